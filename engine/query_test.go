package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// State is read from outside before, during and after the run; what is read is the reader's own.
func TestStateIsReadFromOutside(t *testing.T) {
	g := engine.New(engine.Config{})
	s, in := newSteps[string](g)
	engine.ToRows(allKinds(in), &engine.Rows[string]{})
	p := build(t, g)
	if n, ok, err := engine.Lookup[int](t.Context(), p, "store-2.n", "a"); n != 0 || ok || err != nil {
		t.Error("before the run:", n, ok, err)
	}
	s.p = p
	go func() { s.run <- p.Run(t.Context()) }()
	s.step(t, "a", "a", "b")
	list, ok, err := engine.Lookup[[]int](t.Context(), p, "store-2.list", "a")
	if !slices.Equal(list, []int{1, 2}) || !ok || err != nil {
		t.Error(list, ok, err)
	}
	list[0] = 99
	all, err := engine.Scan[string, map[int]string](t.Context(), p, "store-2.map")
	if err != nil {
		t.Fatal(err)
	}
	s.step(t, "a", "c")
	s.end(t)
	for range 2 { // as it was when it was taken, as often as liked
		got := maps.Collect(all)
		if d := cmp.Diff(map[string]map[int]string{"a": {1: "a", 2: "a"}, "b": {1: "b"}}, got); d != "" {
			t.Error(d)
		}
		clear(got["a"])
	}
	for range all { // and as much of it
		break
	}
	if list, _, err := engine.Lookup[[]int](t.Context(), p, "store-2.list", "a"); !slices.Equal(list, []int{1, 2, 3}) || err != nil {
		t.Error("after the run:", list, err)
	}
	states, err := p.States(t.Context())
	want := []engine.State{
		{Name: "store-1.reduce", Key: "string", Value: "string", Keys: 3},
		{Name: "store-2.aggregating", Key: "string", Value: "[]int", Keys: 3},
		{Name: "store-2.list", Key: "string", Value: "[]int", Keys: 3},
		{Name: "store-2.map", Key: "string", Value: "map[int]string", Keys: 3},
		{Name: "store-2.n", Key: "string", Value: "int", Keys: 3},
		{Name: "store-2.reducing", Key: "string", Value: "string", Keys: 3},
	}
	if d := cmp.Diff(want, states); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestAWrongNameOrTypeSaysWhatThereIs(t *testing.T) {
	g := engine.New(engine.Config{})
	sums := engine.Sum(engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2})), func(int) string { return "k" }), func(v int) int { return v })
	engine.ToRows(sums.WithUID("orders"), &engine.Rows[int]{})
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, ok, err := engine.Lookup[int](t.Context(), p, "orders.sum", "k"); n != 3 || !ok || err != nil {
		t.Error(n, ok, err)
	}
	look := func(_ any, _ bool, err error) error { return err }
	value, ok, err := engine.Lookup[string](t.Context(), p, "orders.sum", "k")
	for says, err := range map[string]error{
		`store-1.sum: no such state; there are ["orders.sum"]`:                                         third(engine.Lookup[int](t.Context(), p, "store-1.sum", "k")),
		"its keys are string and its values int, asked for are string and string":                      look(value, ok, err),
		"orders.sum: state of another type: its keys are string and its values int, asked for are int": third(engine.Lookup[int](t.Context(), p, "orders.sum", 1)),
		"scan orders.sum: state of another type":                                                       errOf(engine.Scan[string, int64](t.Context(), p, "orders.sum")),
		`scan orders: no such state; there are ["orders.sum"]`:                                         errOf(engine.Scan[string, int](t.Context(), p, "orders")),
	} {
		if err == nil || !strings.Contains(err.Error(), says) || !errors.Is(err, engine.ErrNoState) && !errors.Is(err, engine.ErrStateType) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func errOf[A any](_ A, err error) error { return err }

// A record that gives its context sees what it has written so far; a query from elsewhere waits for its end.
func TestARecordMayReadAnyState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *engine.Pipeline
		p = pairs(t, []int{7}, func(c engine.Context, _ int) error {
			a, _, err1 := engine.Lookup[int](c, p, "store-1.a", "k")
			b, some, err2 := engine.Lookup[int](c, p, "store-1.b", "k")
			all, err3 := engine.Scan[string, int](c, p, "store-1.a")
			states, err4 := p.States(c)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				return err
			}
			if a != 7 || b != 0 || some || maps.Collect(all)["k"] != 7 || len(states) != 2 {
				t.Error(a, b, some, states)
			}
			time.Sleep(time.Second)
			return nil
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Millisecond)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := engine.Lookup[int](short, p, "store-1.a", "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if b, _, err := engine.Lookup[int](t.Context(), p, "store-1.b", "k"); b != 7 || err != nil || time.Now().Nanosecond() != 0 {
			t.Error(b, err, time.Now())
		}
		wg.Wait()
	})
}

// With several subtasks a query takes the lock of the one that has the key: others may be in a record as long as they like.
// From inside a record it reads the keys of the record's own subtask.
func TestALookupWaitsForOneSubtask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const busy, keys = 5, 40
		var p *engine.Pipeline
		looked := make(chan map[int]bool, 1) // which keys could be read, from the one long record
		g := engine.New(engine.Config{Parallelism: 4})
		in := append(numbersTo(keys), busy)
		engine.ToRows(engine.Process(engine.KeyBy(engine.From(g, engine.Slice(in)), func(v int) int { return v }), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
			n := engine.ValueOf[int](op, "n")
			return func(c engine.Context, k, _ int, _ func(int)) error {
				n.Put(n.Get() + 1)
				if k != busy || n.Get() < 2 {
					return nil
				}
				own := make(map[int]bool)
				for k := range keys + 1 {
					_, _, err := engine.Lookup[int](c, p, "store-1.n", k)
					if own[k] = err == nil; err != nil && !errors.Is(err, engine.ErrInRecord) {
						t.Error(k, err)
					}
				}
				if _, err := engine.Scan[int, int](c, p, "store-1.n"); !errors.Is(err, engine.ErrInRecord) {
					t.Error(err)
				}
				looked <- own
				time.Sleep(time.Hour)
				return nil
			}
		}), &engine.Rows[int]{})
		p = build(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		own := <-looked
		time.Sleep(time.Second)
		if !own[busy] || len(slices.DeleteFunc(slices.Collect(maps.Values(own)), func(own bool) bool { return own })) == 0 {
			t.Error("one subtask has it all:", own)
		}
		for k := 1; k <= keys; k++ {
			short, cancel := context.WithTimeout(t.Context(), time.Minute)
			n, ok, err := engine.Lookup[int](short, p, "store-1.n", k)
			if cancel(); own[k] != errors.Is(err, context.DeadlineExceeded) || !own[k] && (n != 1 || !ok) {
				t.Error(k, own[k], n, ok, err)
			}
		}
		wg.Wait()
	})
}

// Queries at random moments: a scan is of one moment, in which no record is half done, for any number of subtasks.
func TestAScanIsOfOneMoment(t *testing.T) {
	p := pairs(t, numbersTo(20_000), nil)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for last := 0; ; {
				all, err := engine.Scan[string, int](t.Context(), p, "store-1.b")
				n, _, err2 := engine.Lookup[int](t.Context(), p, "store-1.a", "k")
				if err = errors.Join(err, err2); err != nil {
					t.Error(err)
					return
				}
				if b := maps.Collect(all)["k"]; b < last || n < b {
					t.Error("time goes back:", last, b, n)
				}
				last = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	err := p.Run(t.Context())
	close(done)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
}

// A snapshot function runs under the locks, so what it asks the pipeline for has to wait for itself, until its context ends.
func TestASnapshotFunctionCannotAskThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *engine.Pipeline
		var got []error
		g := engine.New(engine.Config{})
		pairsGraph(g, nil, nil)
		engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _, err := engine.Lookup[int](ctx, p, "store-1.a", "k")
			_, err2 := p.Checkpoints().Trigger(ctx)
			got = append(got, err, err2)
			return nil, nil
		}, func([]byte) error { return nil })
		p = build(t, g)
		mustTrigger(t, p.EnableCheckpoints(0))
		for _, err := range got {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if len(got) != 2 {
			t.Error(fmt.Sprint(got))
		}
	})
}
