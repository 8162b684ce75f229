package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// An error of a source comes behind the records before it, however many subtasks they have to pass.
func TestRecordsBeforeASourceErrorPassAllSubtasks(t *testing.T) {
	const n = 5000
	for _, subtasks := range []int{1, 2, 4} {
		g := engine.New(engine.Config{Parallelism: subtasks, Queue: 8})
		s := engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			for i := range n {
				if err := c.Collect(i); err != nil {
					return err
				}
			}
			return errBoom
		}))
		first := engine.Count(engine.KeyBy(s, func(v int) int { return v % 100 }))
		second := engine.Count(engine.KeyBy(first, func(v int64) int64 { return v % 7 }))
		var rows engine.Rows[int64]
		engine.ToRows(second, &rows)
		p := build(t, g)
		if err := p.Run(t.Context()); !errors.Is(err, errBoom) || rows.Len() != n {
			t.Errorf("%d subtasks: %d rows, %v", subtasks, rows.Len(), err)
		}
		if _, err := p.Cut(t.Context(), 1); err != nil {
			t.Errorf("%d subtasks: cut behind the error: %v", subtasks, err)
		}
	}
}

// A source whose goroutine is ended has not come to its end.
func TestAnEndedGoroutineIsNotTheEndOfTheInput(t *testing.T) {
	for _, subtasks := range []int{1, 2} {
		g := engine.New(engine.Config{Parallelism: subtasks})
		s := engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			if err := c.Collect(1); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		}))
		var rows engine.Rows[int]
		engine.ToRows(s, &rows)
		if err := build(t, g).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "source-1") || rows.Len() != 1 {
			t.Errorf("%d subtasks: %d rows, %v", subtasks, rows.Len(), err)
		}
	}
}

// What is declared outside of the setup function would be in no cut that can be restored.
func TestLateDeclarationsEndTheRun(t *testing.T) {
	for name, declare := range map[string]func(op *engine.Keyed[string]){
		"a value": func(op *engine.Keyed[string]) { engine.ValueOf[int](op, "late") },
		"a list":  func(op *engine.Keyed[string]) { engine.ListOf[int](op, "late") },
		"a value that expires": func(op *engine.Keyed[string]) {
			engine.Declare(op, engine.Descriptor[int]{Name: "late", TTL: engine.TTL{After: ms}})
		},
		"timers": func(op *engine.Keyed[string]) { op.Timers() },
		"a timer function": func(op *engine.Keyed[string]) {
			engine.OnTimer(op, func(engine.Context, engine.Timer[string], func(int)) error { return nil })
		},
		"a side output": func(op *engine.Keyed[string]) { engine.OutputTo(op, engine.NewSideOutput[int]("late")) },
	} {
		g := engine.New(engine.Config{})
		keyed := engine.KeyBy(engine.From(g, engine.Slice([]int{1})), oneKey)
		var rows engine.Rows[int]
		engine.ToRows(engine.Process(keyed, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
			return func(engine.Context, string, int, func(int)) error {
				declare(op)
				return nil
			}
		}), &rows)
		if err := build(t, g).Run(t.Context()); !errors.Is(err, engine.ErrSealed) || !strings.Contains(fmt.Sprint(err), "record 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unwritable is a value whose marshaller panics.
type unwritable struct{ N int }

func (unwritable) MarshalBinary() ([]byte, error)  { panic(errBoom) }
func (*unwritable) UnmarshalBinary(_ []byte) error { return nil }

// A panic of a user's marshaller fails the item, not the process.
func TestAPanickingMarshallerFailsItsItem(t *testing.T) {
	g := engine.New(engine.Config{})
	keyed := engine.KeyBy(engine.From(g, engine.Slice([]unwritable{{1}})), func(unwritable) int { return 0 })
	var rows engine.Rows[unwritable]
	engine.ToRows(engine.Reduce(keyed, func(_, b unwritable) unwritable { return b }), &rows)
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, i := range mustCut(t, p, 1).Items {
		if _, err := i.Encode(); errors.Is(err, errBoom) {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	if failed != 1 {
		t.Error(failed, "items failed")
	}
}

// A request whose goroutine is ended by a snapshot function is no success.
func TestARequestThatIsEndedIsNoSuccess(t *testing.T) {
	g := engine.New(engine.Config{})
	engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { runtime.Goexit(); return nil, nil }, func([]byte) error { return nil })
	engine.ForEach(engine.From(g, engine.Slice([]int{1})), func(engine.Context, int) error { return nil })
	p := build(t, g)
	if s, err := p.Request(t.Context(), 1).Wait(t.Context()); s != nil || err == nil {
		t.Error(s, err)
	}
	if err := p.Run(t.Context()); err != nil { // the locks are free again
		t.Error(err)
	}
}
