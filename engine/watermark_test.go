package engine_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

func TestGenerators(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name     string
		strategy engine.Strategy
		events   []int64
		want     int64
	}{
		{"ascending", engine.Ascending(), []int64{1000, 2000, 3000}, 2999},
		{"ascending, falling events", engine.Ascending(), []int64{3000, 2000, 1000}, 2999},
		{"ascending, the same thrice", engine.Ascending(), []int64{1000, 1000, 1000}, 999},
		{"ascending, negative", engine.Ascending(), []int64{-1000}, -1001},
		{"ascending, greatest", engine.Ascending(), []int64{math.MaxInt64}, math.MaxInt64 - 1},
		{"ascending, no event", engine.Ascending(), nil, engine.MinWatermark},
		{"bounded 5 s", engine.Bounded(5 * time.Second), []int64{3000}, -2001},
		{"bounded 2 s, out of order", engine.Bounded(2 * time.Second), []int64{5000, 3000, 7000, 4000}, 4999},
		{"bounded 100 ms", engine.Bounded(100 * ms), []int64{1000}, 899},
		{"bounded 0", engine.Bounded(0), []int64{1000}, 999},
		{"less than a millisecond counts as 0", engine.Bounded(time.Microsecond), []int64{1000}, 999},
		{"bounded 10 min", engine.Bounded(10 * time.Minute), []int64{5000}, -595001},
		{"bounded, no event", engine.Bounded(time.Second), nil, engine.MinWatermark},
		{"bounded, an event near the minimum does not wrap around", engine.Bounded(time.Second), []int64{math.MinInt64 + 5}, engine.MinWatermark},
		{"none", engine.NoWatermarks(), []int64{1000}, engine.MinWatermark},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, other := c.strategy.New(), c.strategy.New()
			last := g.Current()
			for _, ts := range c.events {
				g.Observe(ts)
				if now := g.Current(); now < last {
					t.Error("the watermark went back")
				} else {
					last = now
				}
			}
			if last != c.want || g.Current() != c.want {
				t.Errorf("got %d, want %d", last, c.want)
			}
			if other.Current() != engine.MinWatermark {
				t.Error("generators share state")
			}
			other.Resume(c.want)
			if other.Current() != c.want {
				t.Errorf("resumed at %d", other.Current())
			}
		})
	}
}

func TestWatermarkFollowsTheRecordThatRaisedIt(t *testing.T) {
	type in struct{ ts int64 }
	run := func(bound time.Duration, events []in) (out []string, late int64) {
		g := engine.New(engine.Config{})
		s := engine.EventTime(engine.From(g, engine.Slice(events)), func(e in) int64 { return e.ts }, engine.Bounded(bound))
		w := engine.Window(engine.KeyBy(s, func(in) string { return "k" }), window.Tumbling(time.Second))
		var rows engine.Rows[string]
		engine.ToRows(engine.Map(engine.CountWindow(w), func(r engine.Result[string, int64]) string {
			return r.Window.String() + "=" + string(rune('0'+r.Value))
		}), &rows)
		p := build(t, g)
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return rows.All(), p.Progress().LateDropped
	}
	for _, c := range []struct {
		name   string
		bound  time.Duration
		events []in
		want   []string
		late   int64
	}{
		{"counts per window", 0, []in{{ts: 1000}, {ts: 1500}, {ts: 2500}}, []string{"[1000-2000]=2", "[2000-3000]=1"}, 0},
		{"a record behind the watermark whose window is open counts", 0, []in{{ts: 1800}, {ts: 1200}}, []string{"[1000-2000]=2"}, 0},
		{"a record of an emitted window is dropped and counted", 0, []in{{ts: 500}, {ts: 2000}, {ts: 600}, {ts: 2100}}, []string{"[0-1000]=1", "[2000-3000]=2"}, 1},
		{"within the bound nothing is late", 1500 * time.Millisecond, []in{{ts: 500}, {ts: 2000}, {ts: 600}}, []string{"[0-1000]=2", "[2000-3000]=1"}, 0},
		{"the watermark of a window's last moment emits it", 0, []in{{ts: 999}, {ts: 1000}, {ts: 998}}, []string{"[0-1000]=1", "[1000-2000]=1"}, 1},
		{"before the epoch", 0, []in{{ts: -500}, {ts: -1000}, {ts: 0}}, []string{"[-1000-0]=2", "[0-1000]=1"}, 0},
		{"no records", 0, nil, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, late := run(c.bound, c.events)
			if d := cmp.Diff(c.want, got); d != "" || late != c.late {
				t.Error(d, late)
			}
		})
	}
}

// Without watermarks, windows wait for the end of the input; results carry the latest timestamp of their window.
func TestWindowResults(t *testing.T) {
	type in struct {
		key string
		ts  int64
		n   int
	}
	events := []in{{"k1", 199, 1}, {"k2", 110, 10}, {"k1", 100, 2}, {"k1", 50, 4}, {"k1", 150, 3}}
	got := collect(t, func(g *engine.Graph) engine.Stream[string] {
		s := engine.EventTime(engine.From(g, engine.Slice(events)), func(e in) int64 { return e.ts }, engine.NoWatermarks())
		w := engine.Window(engine.KeyBy(s, func(e in) string { return e.key }), window.Tumbling(100*time.Millisecond))
		sums := engine.ReduceWindow(w, func(a, b in) in { return in{a.key, b.ts, a.n + b.n} })
		return engine.TryMap(sums, func(c engine.Context, r engine.Result[string, in]) (string, error) {
			return fmt.Sprint(r.Key, r.Window, "=", r.Value.n, "@", c.Timestamp()), nil
		})
	})
	want := []string{"k1[0-100]=4@50", "k1[100-200]=6@199", "k2[100-200]=10@110"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
