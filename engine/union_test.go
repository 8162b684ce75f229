package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

func TestUnionKeepsTheOrderOfItsStreams(t *testing.T) {
	got := collect(t, func(g *engine.Graph) engine.Stream[int] {
		s := engine.From(g, engine.Slice([]int{1, 2, 3, 4}))
		even := engine.Filter(s, func(v int) bool { return v%2 == 0 })
		odd := engine.Filter(s, func(v int) bool { return v%2 != 0 })
		return engine.Union(engine.Map(even, func(v int) int { return v * 10 }), odd, s)
	})
	if want := []int{1, 1, 20, 2, 3, 3, 40, 4}; !slices.Equal(sorted2(got), sorted2(want)) || !slices.Equal(only(got, 10), []int{20, 40}) {
		t.Error(got)
	}
	g := engine.New(engine.Config{})
	var rows engine.Rows[int]
	engine.ToRows(engine.Union(engine.From(g, engine.Slice([]int{1})), engine.From(engine.New(engine.Config{}), engine.Slice([]int{1}))), &rows)
	if _, err := g.Build(); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
}

func sorted2(v []int) []int { v = slices.Clone(v); slices.Sort(v); return v }

func only(v []int, above int) (out []int) {
	for _, n := range v {
		if n > above {
			out = append(out, n)
		}
	}
	return out
}

// The slower of two streams decides when windows close.
func TestUnionHasTheLowestWatermark(t *testing.T) {
	got := collect(t, func(g *engine.Graph) engine.Stream[string] {
		s := engine.From(g, watched{[]event{at(500), at(2000), at(600), at(5000)}, calm().before})
		fast := engine.EventTime(s, nil, engine.Ascending())
		slow := engine.EventTime(engine.Filter(s, func(event) bool { return true }), nil, engine.Bounded(1500*ms))
		u := engine.Union(fast, slow)
		return sumText(engine.Window(engine.KeyBy(u, func(e event) string { return e.Key }), window.Tumbling(time.Second)))
	})
	if d := cmp.Diff([]string{"k[0-1000]=4", "k[2000-3000]=2", "k[5000-6000]=2"}, got); d != "" {
		t.Error(d)
	}
}

// A stream that had ended before the cut does not hold the union back after it.
func TestUnionAdoptsStreamsThatHaveEnded(t *testing.T) {
	var rows engine.Rows[string]
	job := func(before func(ctx context.Context, i int64)) *engine.Pipeline {
		g := engine.New(engine.Config{})
		short := engine.EventTime(engine.From(g, watched{[]event{at(10)}, calm().before}), nil, engine.Ascending())
		long := engine.EventTime(engine.From(g, watched{[]event{at(20), at(30), at(2000), at(3000)}, before}), nil, engine.Ascending())
		u := engine.Union(short, long)
		w := engine.Window(engine.KeyBy(u, func(e event) string { return e.Key }), window.Tumbling(time.Second))
		engine.ToRows(engine.TryMap(sumText(w), func(c engine.Context, s string) (string, error) { return fmt.Sprint(s, "@", c.Timestamp()), nil }), &rows)
		return build(t, g)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var first *engine.Pipeline
	first = job(func(ctx context.Context, i int64) {
		for i == 2 && ctx.Err() == nil {
			if p := first.Progress(); p.Sources[0].Done && p.RecordsIn == 3 {
				cancel(errBoom)
			}
			runtime.Gosched()
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := first.Run(ctx); !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	wg.Wait()
	items := encode(t, mustCut(t, first, 1))
	second := job(func(context.Context, int64) {})
	if err := errors.Join(second.Restore(t.Context(), items, engine.Adopt), second.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"k[0-1000]=3@30", "k[2000-3000]=1@2000", "k[3000-4000]=1@3000"}, rows.All()); d != "" {
		t.Error(d)
	}
}
