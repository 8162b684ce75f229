package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// twoSources reads a behind b, although a was made first; b has watermarks of its own. Windows of both count per key.
func twoSources(parallelism int, loose bool, rows *engine.Rows[string], before func(e event) error) *engine.Graph {
	g := engine.New(engine.Config{Parallelism: parallelism, Queue: 4, AllowNonRestored: loose})
	list := func(key string, n int) (in []event) {
		for i := range n {
			in = append(in, event{key, int64(i * 10), int64(i)})
		}
		return in
	}
	a := engine.From(g, watched{list("a", 90), calm().before})
	b := engine.From(g, watched{list("b", 70), calm().before})
	u := engine.Union(engine.EventTime(b, nil, engine.Ascending()), engine.EventTime(a, nil, engine.Ascending()))
	u = engine.TryMap(u, func(_ engine.Context, e event) (event, error) { return e, before(e) })
	w := engine.Window(engine.KeyBy(u, func(e event) string { return e.Key }), window.Tumbling(50*ms))
	engine.ToRows(engine.Map(engine.CountWindow(w), func(r engine.Result[string, int64]) string {
		return fmt.Sprint(r.Key, " ", r.Window, " ", r.Value)
	}), rows)
	return g
}

// until runs p, which is to fail, and gives the last cut before that.
func until(t *testing.T, p *engine.Pipeline) map[string][]byte {
	t.Helper()
	newest := mustCut(t, p, 0)
	ended := make(chan error, 1) // from the run, once
	go func() { ended <- p.Run(t.Context()) }()
	for id := int64(1); ; id++ {
		s, err := p.Cut(t.Context(), id)
		if err != nil {
			if !errors.Is(err, engine.ErrFailed) {
				t.Error(err)
			}
			break
		}
		newest = s
	}
	if err := <-ended; !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	return encode(t, newest)
}

// A source has one name whichever subtask reads it, and what follows it is found again: positions and watermarks go to the
// right one of two sources of a type.
func TestSeveralSourcesGoOnAtAnotherParallelism(t *testing.T) {
	calmly := func(event) error { return nil }
	var want engine.Rows[string]
	if err := build(t, twoSources(1, false, &want, calmly)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, loose := range []bool{false, true} {
		for _, change := range [][2]int{{1, 2}, {2, 1}, {2, 2}, {3, 2}, {1, 4}} {
			var got engine.Rows[string]
			cut := until(t, build(t, twoSources(change[0], loose, &got, func(e event) error {
				if e.Key == "b" && e.N == 60 {
					return errBoom
				}
				return nil
			})))
			p := build(t, twoSources(change[1], loose, &got, calmly))
			if err := errors.Join(p.Restore(t.Context(), cut, engine.Adopt), p.Run(t.Context())); err != nil {
				t.Fatal(change, err)
			}
			if d := cmp.Diff(sorted(want.All()), sorted(got.All())); d != "" {
				t.Errorf("loose %t, from %d to %d subtasks: %s", loose, change[0], change[1], d)
			}
			if in := p.Progress().RecordsIn; in != 160 {
				t.Errorf("%d records", in)
			}
		}
	}
}

// With AllowNonRestored, what a subtask has that is not the first is restored like all else.
func TestLooseRestoreTakesWhatThereIs(t *testing.T) {
	var rows engine.Rows[string]
	graph := func(fail bool) *engine.Graph {
		return twoSources(2, true, &rows, func(e event) error {
			if fail && e.N == 60 {
				return errBoom
			}
			return nil
		})
	}
	cut := until(t, build(t, graph(true)))
	p := build(t, graph(false))
	if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	again := encode(t, mustCut(t, p, 1))
	if d := cmp.Diff(cut, again); d != "" {
		t.Error(d)
	}
	if cut["watermark-1"] != nil || cut["watermark-1@1"] == nil {
		t.Error("the first subtask has the watermark of a source that is the second's")
	}
}

// A run that is cancelled while it is busy can be cut, and its cut goes on.
func TestACancelledRunCanBeCut(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var want, got engine.Rows[string]
			if err := build(t, parallelGraph(3000, 1, &want, untouched)).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			p := build(t, parallelGraph(3000, parallelism, &got, func(_ engine.Context, r numbered) error {
				if r.N == 1000 {
					cancel(errBoom)
					synctest.Wait() // the run knows, and this record is in work
				}
				return nil
			}))
			if err := p.Run(ctx); !errors.Is(err, errBoom) {
				t.Fatal(err)
			}
			cut := encode(t, mustCut(t, p, 1))
			p = build(t, parallelGraph(3000, 2, &got, untouched))
			if err := errors.Join(p.Restore(t.Context(), cut, engine.Adopt), p.Run(t.Context())); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(sorted(want.All()), sorted(got.All())); d != "" {
				t.Errorf("parallelism %d: %s", parallelism, d)
			}
		})
	}
}

// The last restore counts, whatever came before it.
func TestTheLastRestoreCounts(t *testing.T) {
	var want engine.Rows[string]
	if err := build(t, parallelGraph(1000, 1, &want, untouched)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{1, 2, 3} {
		var got engine.Rows[string]
		cut := until(t, build(t, parallelGraph(1000, first, &got, func(_ engine.Context, r numbered) error {
			if r.N == 700 {
				return errBoom
			}
			return nil
		})))
		p := build(t, parallelGraph(1000, 2, &got, untouched))
		for _, mode := range []engine.RestoreMode{engine.Adopt, engine.Fresh} {
			if err := p.Restore(t.Context(), cut, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sorted(want.All()), sorted(got.All())); d != "" {
			t.Errorf("adopted at %d, then fresh: %s", first, d)
		}
	}
}

// With several subtasks, sources that are dealt out in another order have another's watermarks: that is refused by name.
func TestSourcesInAnotherOrderAreRefused(t *testing.T) {
	graph := func(order ...string) *engine.Pipeline {
		g := engine.New(engine.Config{Parallelism: 2, AllowNonRestored: true})
		made := make(map[string]engine.Stream[event])
		for _, uid := range order {
			made[uid] = engine.From(g, watched{[]event{{uid, 1, 1}}, calm().before}).WithUID(uid)
		}
		k := engine.KeyBy(engine.Union(made["x"], made["y"]).WithUID("both"), func(e event) string { return e.Key }).WithUID("move")
		engine.ForEach(engine.Count(k).WithUID("counts"), func(engine.Context, int64) error { return nil })
		return build(t, g)
	}
	cut := encode(t, mustCut(t, graph("x", "y"), 1))
	if err := graph("x", "y").Restore(t.Context(), cut, engine.Adopt); err != nil {
		t.Error(err)
	}
	if err := graph("y", "x").Restore(t.Context(), cut, engine.Adopt); !errors.Is(err, engine.ErrMissingItem) {
		t.Error(err)
	}
}

// A run that adopts a cut from after the end of the input ends too, however little space there is between subtasks.
func TestARunThatHadEndedEndsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		graph := func() *engine.Pipeline {
			g := engine.New(engine.Config{Parallelism: 2, Queue: 1})
			timed := engine.EventTime(engine.From(g, upTo(10)), nil, engine.Ascending())
			counts := engine.Count(engine.KeyBy(engine.Union(timed, timed), func(v int) int { return v }))
			engine.ForEach(counts, func(engine.Context, int64) error { return nil })
			return build(t, g)
		}
		p := graph()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		cut := encode(t, mustCut(t, p, 1))
		for range 3 {
			p = graph()
			if err := errors.Join(p.Restore(t.Context(), cut, engine.Adopt), p.Run(t.Context())); err != nil {
				t.Fatal(err)
			}
			cut = encode(t, mustCut(t, p, 1))
		}
	})
}
