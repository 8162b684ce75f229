package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// byTime gives each number itself as its event time.
func byTime(s engine.Stream[int64]) engine.Stream[int64] {
	return engine.EventTime(s, func(v int64) int64 { return v }, engine.Ascending())
}

// watermarkOf is what a checkpoint has of the first stream with watermarks.
func watermarkOf(t *testing.T, s *engine.Snapshot, graph func(*engine.Graph)) string {
	t.Helper()
	return content(mirror(t, encode(t, s), graph)["watermark-1"])
}

// The watermark is played back, and timers with it; but for operators time never goes back.
func TestWatermarksAndTimersArePlayedBack(t *testing.T) {
	graph := func(s engine.Stream[int64], rows *engine.Rows[string]) {
		byKey := engine.KeyBy(byTime(s), func(int64) string { return "k" })
		engine.ToRows(engine.Process(byKey, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int64, string] {
			timers := op.Timers()
			engine.OnTimer(op, func(_ engine.Context, tm engine.Timer[string], emit func(string)) error {
				emit(fmt.Sprint("timer of ", tm.Time, " at ", timers.EventTime()))
				return nil
			})
			return func(_ engine.Context, _ string, v int64, emit func(string)) error {
				timers.RegisterEventTime(v + 10)
				emit(fmt.Sprint("record ", v, " at ", timers.EventTime()))
				return nil
			}
		}), rows)
	}
	var rows engine.Rows[string]
	g := engine.New(engine.Config{})
	s, in := newSteps[int64](g)
	graph(in, &rows)
	c := s.start(t, g)
	s.step(t, 100)
	mustTrigger(t, c)
	s.step(t, 200, 300)
	mustRestore(t, c, 1)
	if wm := s.p.Progress().Watermark; wm != 99 {
		t.Error("the watermark after the restore:", wm)
	}
	mustTrigger(t, c)
	latest, _ := c.Latest()
	if wm := watermarkOf(t, latest, func(g *engine.Graph) {
		_, in := newSteps[int64](g)
		graph(in, &engine.Rows[string]{})
	}); wm != "watermark 99, idle false" {
		t.Error(wm)
	}
	s.step(t, 250) // raises the watermark of the stream, which operators have left behind
	if wm := s.p.Progress().Watermark; wm != 249 {
		t.Error("the watermark after the next record:", wm)
	}
	s.step(t, 400)
	s.end(t)
	want := []string{
		"record 100 at -9223372036854775808", "record 200 at 99", "timer of 110 at 199", "record 300 at 199", "timer of 210 at 299",
		"record 250 at 299", "record 400 at 299", "timer of 110 at 399", "timer of 260 at 399", "timer of 410 at 410",
	}
	if d := cmp.Diff(want, rows.All()); d != "" {
		t.Error(d)
	}
}

// A stream that was idle at the checkpoint is idle again, and one that was not holds back what waits for it.
func TestIdleStreamsArePlayedBack(t *testing.T) {
	var now atomic.Int64
	g := engine.New(engine.Config{Clock: now.Load})
	a, fast := newSteps[int64](g)
	b, slow := newSteps[int64](g)
	idling := engine.EventTime(slow, func(v int64) int64 { return v }, engine.Ascending().WithIdleness(time.Second))
	both := engine.Union(byTime(fast), idling)
	windows := engine.Window(engine.KeyBy(both, func(int64) string { return "k" }), window.Tumbling(100*time.Millisecond))
	var rows engine.Rows[int64]
	engine.ToRows(engine.Map(engine.CountWindow(windows), func(r engine.Result[string, int64]) int64 { return r.Window.Start }), &rows)
	c := a.start(t, g)
	b.p = a.p
	emitted := func(want ...int64) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !slices.Equal(rows.All(), want); {
			mustCut(t, a.p, 0)
			if time.Now().After(deadline) {
				t.Fatalf("emitted are %d, not %d", rows.All(), want)
			}
		}
	}
	send := func(s *steps[int64], v int64) {
		s.records <- v
		for a.sent++; a.p.Progress().RecordsIn < a.sent; {
			mustCut(t, a.p, 0)
		}
	}
	send(b, 10)
	awake := mustTrigger(t, c)
	send(a, 150)
	emitted()
	now.Add(1000)
	emitted(0) // b is idle
	asleep := mustTrigger(t, c)
	mustRestore(t, c, awake)
	send(a, 350)
	emitted(0) // a is at 349, but b is active again
	mustRestore(t, c, asleep)
	emitted(0, 100)
	close(b.records)
	a.end(t)
	emitted(0, 100, 300)
}

// Windows stay as they are: the mirror shows what they held, and they are emitted with what they hold now.
func TestWindowsDoNotGoBack(t *testing.T) {
	var sums engine.Rows[engine.Result[string, int64]]
	var raw engine.Rows[int]
	g := engine.New(engine.Config{})
	s, in := newSteps[int64](g)
	w := engine.Window(engine.KeyBy(byTime(in), func(int64) string { return "k" }), window.Tumbling(100*time.Millisecond))
	engine.ToRows(engine.ReduceWindow(w, func(a, b int64) int64 { return a + b }), &sums)
	engine.ToRows(engine.ApplyWindow(w, func(_ engine.Context, _ string, _ window.Window, e []int64, emit func(int)) error {
		emit(len(e))
		return nil
	}), &raw)
	c := s.start(t, g)
	s.step(t, 10, 20)
	mustTrigger(t, c)
	s.step(t, 30)
	mustRestore(t, c, 1)
	var got []string
	for e := range s.p.Mirror() {
		if e.Key != "" {
			e.Item = e.Item[:len("window-1")]
			got = append(got, fmt.Sprint(e))
		}
	}
	if want := []string{"{window-1 k [0-100] 20 {true 30}}", "{window-2 k [0-100] 20 [10 20]}"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.step(t, 100)
	if sums.All()[0].Value != 60 || raw.All()[0] != 3 {
		t.Error(sums.All(), raw.All())
	}
	s.end(t)
}

// The flush at the end of the input is one fence: a checkpoint in the middle of it waits for its end.
func TestACheckpointWaitsForTheFlushAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		graph := func(g *engine.Graph) {
			w := engine.Window(engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2})), func(v int) int { return v }), window.Global())
			engine.ToRows(engine.ApplyWindow(w, func(_ engine.Context, _ int, _ window.Window, _ []int, emit func(int)) error {
				time.Sleep(50 * time.Millisecond)
				emit(1)
				return nil
			}), &engine.Rows[int]{})
		}
		g := engine.New(engine.Config{})
		graph(g)
		p := build(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
		start := time.Now()
		mustTrigger(t, p.EnableCheckpoints(0))
		if d := time.Since(start); d != 80*time.Millisecond {
			t.Error("waited", d)
		}
		s, _ := p.Checkpoints().Latest()
		if m := mirror(t, encode(t, s), graph); len(m["window-1"]) > 0 || content(m["source-1"]) != "records 2, offset 2, done true" || content(m["rows-1"]) != "2 rows" {
			t.Error(m)
		}
		wg.Wait()
	})
}
