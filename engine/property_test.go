package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// event is a record of the generated inputs.
type event struct {
	Key string
	TS  int64
	N   int64
}

// plan is a generated pipeline with its input.
type plan struct {
	in        []event
	size      time.Duration
	offset    time.Duration
	disorder  time.Duration
	groups    int
	queue     int
	union     bool // the late records come together with the others
	raw       bool // windows of raw elements instead of an aggregate
	sums      bool // an aggregate that needs no list
	shape     func(p plan) window.Assigner
	trigger   window.Trigger // nil: the assigner's own
	lateness  time.Duration
	threshold int64
}

func drawPlan(t *rapid.T) plan {
	size := rapid.Int64Range(1, 50).Draw(t, "size")
	in := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
		return event{rapid.SampledFrom([]string{"", "a", "b", "cc", "ä"}).Draw(t, "key"), rapid.Int64Range(-100, 100).Draw(t, "ts"), rapid.Int64Range(-5, 5).Draw(t, "n")}
	}), 0, 80).Draw(t, "in")
	for i := range in { // time goes on, with disorder, from before the epoch
		in[i].TS += int64(i)*5 - 100
	}
	return plan{
		shape: rapid.SampledFrom([]func(p plan) window.Assigner{
			func(p plan) window.Assigner { return window.Tumbling(p.size).WithOffset(p.offset) },
			func(p plan) window.Assigner { return window.Sliding(p.size, p.size/2+ms) },
			func(p plan) window.Assigner { return window.Sliding(3*p.size, p.size) }, // in slices, if sums
			func(p plan) window.Assigner { return window.Session(p.size) },
			func(plan) window.Assigner { return window.Global() },
			func(p plan) window.Assigner { return window.Count(p.size.Milliseconds()%7 + 1) },
		}).Draw(t, "shape"),
		trigger: rapid.SampledFrom([]window.Trigger{
			nil, nil, window.OnCount(3), window.Purging(window.OnCount(2)), window.Purging(window.OnEventTime()),
			everyTwo{window.OnEventTime(), window.Purge},
			every{window.OnEventTime()},
		}).Draw(t, "trigger"),
		lateness:  time.Duration(rapid.SampledFrom([]int64{0, 1, 20, 100}).Draw(t, "lateness")) * ms,
		in:        in,
		size:      time.Duration(size) * time.Millisecond,
		offset:    time.Duration(rapid.Int64Range(0, size-1).Draw(t, "offset")) * time.Millisecond,
		disorder:  time.Duration(rapid.Int64Range(0, 150).Draw(t, "disorder")) * time.Millisecond,
		groups:    rapid.IntRange(1, 9).Draw(t, "groups"),
		queue:     rapid.IntRange(1, 16).Draw(t, "queue"),
		raw:       rapid.Bool().Draw(t, "raw"),
		sums:      rapid.Bool().Draw(t, "sums"),
		union:     rapid.Bool().Draw(t, "union"),
		threshold: rapid.Int64Range(-5, 0).Draw(t, "threshold"),
	}
}

// watched is a seekable source that calls before ahead of each record, on its own goroutine.
type watched struct {
	in     []event
	before func(ctx context.Context, i int64)
}

func (w watched) Seekable() bool { return true }

func (w watched) Run(ctx context.Context, c *engine.Collector[event]) error {
	for i := c.From(); i < int64(len(w.in)); i++ {
		w.before(ctx, i)
		if err := c.CollectAt(w.in[i], w.in[i].TS); err != nil {
			return err
		}
	}
	return nil
}

// hooks are where a run is disturbed.
type hooks struct {
	before func(ctx context.Context, i int64) // on the source's goroutine
	early  func(e event) error                // in the first operator
	late   func(row string) error             // behind the last
	strays func(engine.Stream[string])        // gets the late output of the windows
}

// graph is the pipeline of a plan: running sums per key and windows of them, into one stream of text.
func (p plan) graph(h hooks, sink func(engine.Stream[string])) *engine.Graph {
	g := engine.New(engine.Config{MaxParallelism: p.groups, Queue: p.queue})
	src := engine.From(g, watched{p.in, h.before})
	kept := engine.Filter(src, func(e event) bool { return e.N >= p.threshold })
	checked := engine.TryMap(kept, func(_ engine.Context, e event) (event, error) { return e, h.early(e) })
	timed := engine.EventTime(checked, nil, engine.Bounded(p.disorder))
	sums := engine.Process(engine.KeyBy(timed, func(e event) string { return e.Key }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, event] {
		sum, seen := engine.ValueOf[int64](op, "sum"), engine.ValueOf[map[int64]int](op, "seen")
		list, byTS := engine.ListOf[int64](op, "list"), engine.MapOf[int64, int64](op, "by-ts")
		least := engine.ReducingOf(op, "least", func(a, b int64) int64 { return min(a, b) })
		return func(_ engine.Context, _ string, e event, emit func(event)) error {
			m := seen.Get()
			if m == nil {
				m = map[int64]int{}
			}
			m[e.N]++
			seen.Put(m)
			sum.Put(sum.Get() + e.N)
			if list.Add(e.N, e.TS); list.Len() > 8 {
				list.Update(list.Get()[3:])
			}
			byTS.Put(e.TS%7, e.N)
			was, _ := byTS.Remove(e.TS % 5)
			least.Add(e.N)
			low, _ := least.Get()
			emit(event{e.Key, e.TS, sum.Get()*100 + int64(m[e.N]) + list.Get()[0]*1000 + was*10 + low + int64(byTS.Len())})
			return nil
		}
	})
	late := engine.NewSideOutput[event]("late")
	w := p.windows(engine.KeyBy(sums, func(e event) string { return e.Key })).WithLateOutput(late)
	var rows engine.Stream[string]
	if p.sums {
		rows = sumText(w)
	} else if p.raw {
		rows = engine.ApplyWindow(w, func(_ engine.Context, k string, w window.Window, all []event, emit func(string)) error {
			emit(fmt.Sprintf("%q %v", k, w))
			emit(fmt.Sprint(all))
			return nil
		})
	} else {
		rows = engine.Map(engine.Aggregate(w, engine.Aggregation[event, []int64, string]{
			Add:    func(acc []int64, e event) []int64 { return append(acc, e.N) },
			Merge:  func(a, b []int64) []int64 { return append(a, b...) },
			Result: func(acc []int64) string { return fmt.Sprint(acc) },
		}), func(r engine.Result[string, string]) string { return fmt.Sprintf("%q %v %s", r.Key, r.Window, r.Value) })
	}
	strays := engine.Map(engine.Side(rows, late), func(e event) string { return fmt.Sprint("late ", e) })
	if p.union {
		rows = engine.Union(rows, strays)
	} else {
		h.strays(strays)
	}
	sink(engine.TryMap(rows, func(_ engine.Context, row string) (string, error) { return row, h.late(row) }))
	return g
}

func calm() hooks {
	return hooks{
		func(context.Context, int64) {}, func(event) error { return nil }, func(string) error { return nil },
		func(engine.Stream[string]) {},
	}
}

// windows cuts a keyed stream as the plan says.
func (p plan) windows(k engine.KeyedStream[string, event]) windowed {
	w := engine.Window(k, p.shape(p)).WithLateness(p.lateness)
	if p.trigger != nil {
		w = w.WithTrigger(p.trigger)
	}
	return w
}

// every fires every 7 ms of event time, from the first record on.
type every struct{ window.Trigger }

func (every) String() string { return "every-7" }

func (e every) OnElement(c *window.Call, ts int64) window.Result {
	if c.WakeEventTime == window.Never {
		c.WakeEventTime = ts + 7
	}
	return e.Trigger.OnElement(c, ts)
}

func (every) OnEventTime(c *window.Call, t int64) window.Result {
	if t < c.Window.End {
		c.WakeEventTime = t + 7
	}
	return window.Fire
}

// disturbance decides, attempt by attempt, when to cut and when to die.
type disturbance struct {
	cutAt   map[int64]bool // before which records a cut is taken
	lost    map[int64]bool // which of those never complete
	crashes []int          // for each attempt but the last: after how many calls of a hook it dies
	behind  bool           // cuts are taken wherever the pipeline is, not only when it has caught up
	late    bool           // it dies behind the window instead of before
}

func drawDisturbance(t *rapid.T, n int) disturbance {
	positions := rapid.SliceOfN(rapid.Int64Range(0, int64(max(n-1, 0))), 0, 8)
	d := disturbance{cutAt: map[int64]bool{}, lost: map[int64]bool{}, late: rapid.Bool().Draw(t, "late"), behind: rapid.Bool().Draw(t, "behind")}
	for _, i := range positions.Draw(t, "cuts") {
		d.cutAt[i] = true
	}
	for _, i := range positions.Draw(t, "lost") {
		d.lost[i] = true
	}
	d.crashes = rapid.SliceOfN(rapid.IntRange(1, max(n, 1)), 1, 4).Draw(t, "crashes")
	return d
}

// run goes through all attempts; each restores the newest completed cut. The last one commits.
func (p plan) run(ctx context.Context, d disturbance, mode engine.RestoreMode, sink, strays func(engine.Stream[string])) error {
	var newest map[string][]byte
	for attempt := 0; ; attempt++ {
		var pl *engine.Pipeline
		var cutErr error
		var last *engine.Snapshot
		calls := 0
		die := func() error {
			if calls++; attempt < len(d.crashes) && calls == d.crashes[attempt] {
				return errBoom
			}
			return nil
		}
		h := calm()
		h.strays = strays
		h.before = func(run context.Context, i int64) {
			if !d.cutAt[i] {
				return
			}
			for !d.behind && pl.Progress().RecordsIn < i && run.Err() == nil {
				runtime.Gosched() // until the pipeline has caught up
			}
			s, err := pl.Cut(ctx, i)
			if errors.Is(err, engine.ErrFailed) {
				return
			}
			if cutErr = errors.Join(cutErr, err); err == nil && !d.lost[i] {
				last = s
			}
		}
		if d.late {
			h.late = func(string) error { return die() }
		} else {
			h.early = func(event) error { return die() }
		}
		var err error
		if pl, err = p.graph(h, sink).Build(); err != nil {
			return err
		}
		if newest != nil {
			if err := pl.Restore(ctx, newest, mode); err != nil {
				return err
			}
		} else if err := resetRows(ctx, pl); err != nil {
			return err
		}
		err = errors.Join(pl.Run(ctx), cutErr)
		// Encoding only now, when the pipeline has gone on, shows whether the cut was deep.
		if last != nil {
			items, err := encodeAll(last, nil)
			if err != nil {
				return err
			}
			newest = items
		}
		if errors.Is(err, errBoom) && cutErr == nil {
			continue
		}
		if err != nil {
			return err
		}
		return pl.Finish(ctx)
	}
}

// resetRows makes a start from nothing of an attempt that has no cut: what a worker does without a restore point.
func resetRows(ctx context.Context, pl *engine.Pipeline) error {
	s, err := pl.Cut(ctx, 0)
	items, err := encodeAll(s, err)
	if err != nil {
		return err
	}
	return pl.Restore(ctx, items, engine.Fresh)
}

func encodeAll(s *engine.Snapshot, err error) (map[string][]byte, error) {
	if err != nil {
		return nil, err
	}
	m := make(map[string][]byte)
	for _, i := range s.Items {
		if m[i.Name], err = i.Encode(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Whatever is cut and whenever it dies: adopting the newest cut gives what an uninterrupted run gives, in the same order.
func TestAdoptEqualsTheUninterruptedRun(t *testing.T) { checkEquality(t, engine.Adopt) }

// Starting anew and reading everything again does so too.
func TestFreshEqualsTheUninterruptedRun(t *testing.T) { checkEquality(t, engine.Fresh) }

func checkEquality(t *testing.T, mode engine.RestoreMode) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		d := drawDisturbance(rt, len(p.in))
		var want, got engine.Rows[string]
		run := func(d disturbance, rows *engine.Rows[string]) {
			sink := func(s engine.Stream[string]) { engine.ToRows(s, rows) }
			if err := p.run(t.Context(), d, mode, sink, sink); err != nil {
				rt.Fatal(err)
			}
		}
		run(disturbance{}, &want)
		run(d, &got)
		if diff := cmp.Diff(want.All(), got.All()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// The same through the file sink: the file holds each row exactly once.
func TestFileSinkEqualsTheUninterruptedRun(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		p := drawPlan(rt)
		d := drawDisturbance(rt, len(p.in))
		mode := rapid.SampledFrom([]engine.RestoreMode{engine.Adopt, engine.Fresh}).Draw(rt, "mode")
		run := func(d disturbance, path string) string {
			sink := func(s engine.Stream[string]) {
				engine.ToFile(s, path, func(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil })
			}
			if err := p.run(t.Context(), d, mode, sink, calm().strays); err != nil {
				rt.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			return string(b)
		}
		want := run(disturbance{}, filepath.Join(dir, fmt.Sprint("want-", n)))
		if diff := cmp.Diff(want, run(d, filepath.Join(dir, fmt.Sprint("got-", n)))); diff != "" {
			rt.Fatal(diff)
		}
	})
	if left, _ := filepath.Glob(filepath.Join(dir, "*.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
