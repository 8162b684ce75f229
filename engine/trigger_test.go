package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// spy notes how it is called, and wakes itself every step of event time.
type spy struct {
	window.Trigger
	calls *[]string
	step  int64
	boom  bool
}

func (s spy) String() string { return "spy" }

func (s spy) OnElement(c *window.Call, ts int64) window.Result {
	if s.boom {
		panic("boom")
	}
	*s.calls = append(*s.calls, fmt.Sprint("element ", ts))
	if s.step > 0 && c.WakeEventTime == window.Never {
		c.WakeEventTime = ts + s.step
	}
	return window.Continue
}

func (s spy) OnEventTime(c *window.Call, t int64) window.Result {
	*s.calls = append(*s.calls, fmt.Sprint("event time ", t, " of ", c.Window))
	if s.step > 0 {
		c.WakeEventTime = t + s.step
	}
	return window.Continue
}

func (s spy) Clear(c *window.Call) { *s.calls = append(*s.calls, fmt.Sprint("clear ", c.Window)) }

// At the end each open bucket gets one call with its end, is emitted once, and is forgotten.
func TestEndOfInputCallsEachBucketOnce(t *testing.T) {
	var calls []string
	run := func(step int64, in ...event) []string {
		return collect(t, func(g *engine.Graph) engine.Stream[string] {
			return sumText(windows(g, in, window.Tumbling(time.Second)).WithTrigger(spy{window.OnEventTime(), &calls, step, false}))
		})
	}
	rows := run(0, at(5), at(1200), at(1300))
	want := []string{
		"element 5", "element 1200", "event time 1000 of [0-1000]", "clear [0-1000]",
		"element 1300", "event time 2000 of [1000-2000]", "clear [1000-2000]",
	}
	if d := cmp.Diff(want, calls); d != "" || !slices.Equal(rows, []string{"k[0-1000]=1", "k[1000-2000]=2"}) {
		t.Error(d, rows)
	}
	// A trigger that wakes itself for ever is called in event time, and cannot hold up the end.
	calls = nil
	run(300, at(0), at(650))
	want = []string{"element 0", "element 650", "event time 300 of [0-1000]", "event time 600 of [0-1000]", "event time 1000 of [0-1000]", "clear [0-1000]"}
	if d := cmp.Diff(want, calls); d != "" {
		t.Error(d)
	}
	// Without records it is never called.
	calls = nil
	if run(0); calls != nil {
		t.Error(calls)
	}
}

func TestTriggerErrorsEndTheRun(t *testing.T) {
	_, err := tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[string] {
		return sumText(windows(g, []event{at(1)}, window.Tumbling(time.Second)).WithTrigger(spy{boom: true, Trigger: window.OnEventTime()}))
	})
	if want := "window-1: window function failed at record 1 of source-1 (offset 0): panic: boom"; err == nil || placeless(err) != want {
		t.Error(err)
	}
	// One that wants processing time without having said so finds no clock.
	_, err = tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[string] {
		return sumText(windows(g, []event{at(1)}, window.Tumbling(time.Second)).WithTrigger(hidden{window.OnProcessingTime()}))
	})
	if !errors.Is(err, engine.ErrNoClock) {
		t.Error(err)
	}
}

// hidden needs a clock and does not say so.
type hidden struct{ window.Trigger }

// Processing time comes from the graph's clock, before each record and while none comes.
func TestProcessingTimeTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() int64 { return time.Since(start).Milliseconds() }
		g := engine.New(engine.Config{Clock: clock})
		src := engine.From(g, sourceFunc[event](func(_ context.Context, c *engine.Collector[event]) error {
			err := errors.Join(c.CollectAt(at(10), 10), c.CollectAt(at(20), 20))
			time.Sleep(1500 * ms)
			err = errors.Join(err, c.CollectAt(at(30), 30), c.CollectAt(event{"b", 40, 7}, 40))
			time.Sleep(500 * ms)
			return errors.Join(err, c.CollectAt(at(5000), 5000))
		}))
		w := engine.Window(engine.KeyBy(src, func(e event) string { return e.Key }), window.Tumbling(time.Second))
		var got []string
		engine.ForEach(sumText(w.WithTrigger(window.OnProcessingTime())), func(_ engine.Context, s string) error {
			got = append(got, fmt.Sprint(s, " at ", clock()))
			return nil
		})
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"k[0-1000]=2 at 1000",
			"k[0-1000]=1 at 1500", "b[0-1000]=7 at 1500", // the clock is past their end already
			"k[5000-6000]=1 at 2000", // the end of the input
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// What a trigger remembers is in the cut: a count goes on where it was.
func TestTriggerMemoryIsInTheCut(t *testing.T) {
	in := valued(1, 2, 3, 4, 5)
	for stop := range in {
		var first *engine.Pipeline
		var items map[string][]byte
		var rows engine.Rows[string]
		job := func(hook func(c engine.Context, e event) error) *engine.Pipeline {
			g := engine.New(engine.Config{})
			src := engine.TryMap(engine.From(g, watched{in, calm().before}), func(c engine.Context, e event) (event, error) { return e, hook(c, e) })
			w := engine.Window(engine.KeyBy(src, func(e event) string { return e.Key }), window.Count(2))
			engine.ToRows(sumText(w), &rows)
			return build(t, g)
		}
		first = job(func(c engine.Context, e event) error {
			if e.N != in[stop].N {
				return nil
			}
			s, err := first.Cut(c, 1)
			items, err = encodeAll(s, err)
			return errors.Join(err, errBoom)
		})
		if err := first.Run(t.Context()); !errors.Is(err, errBoom) || items == nil {
			t.Fatal(err)
		}
		second := job(func(engine.Context, event) error { return nil })
		if err := errors.Join(second.Restore(t.Context(), items, engine.Adopt), second.Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		if want := []string{"k=3", "k=7", "k=5"}; !slices.Equal(rows.All(), want) {
			t.Errorf("cut before record %d: %v", stop+1, rows.All())
		}
	}
}
