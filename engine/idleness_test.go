package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// Two streams are united, of which only the first is sure to go on; the second is made of two sources.
func TestWhatCountsAsSilence(t *testing.T) {
	type stream = engine.Stream[event]
	idle := engine.Ascending().WithIdleness(5 * time.Second)
	big := func(e event) bool { return e.TS < 1000 }
	for _, c := range []struct {
		name   string
		second func(a, b stream) stream
		a, b   scripted
		want   []string
	}{
		{
			"one of its sources has ended, the other is silent",
			func(a, b stream) stream { return engine.EventTime(engine.Union(a, b), nil, idle) },
			scripted{[]moment{{0, 100}}, 1000},
			scripted{[]moment{{2000, 100}}, 30_000},
			[]string{"7.0s [0-1000]=3"},
		},
		{
			"all its records are dropped by a filter",
			func(a, b stream) stream { return engine.EventTime(engine.Filter(engine.Union(a, b), big), nil, idle) },
			scripted{[]moment{{0, 100}, {4999, 5000}, {5000, 5000}, {6000, 6000}}, 30_000},
			scripted{nil, 30_000},
			[]string{"5.0s [0-1000]=2"},
		},
		{
			"it has no watermarks, but falls idle",
			func(a, b stream) stream {
				return engine.EventTime(engine.Union(a, b), nil, engine.NoWatermarks().WithIdleness(5*time.Second))
			},
			scripted{[]moment{{0, 100}}, 30_000},
			scripted{nil, 30_000},
			[]string{"5.0s [0-1000]=2"},
		},
		{
			"it is not timed: it is waited for until it ends",
			func(a, b stream) stream { return engine.Union(a, b) },
			scripted{[]moment{{0, 100}}, 20_000},
			scripted{nil, 30_000},
			[]string{"30.0s [0-1000]=2"},
		},
		{
			"a strategy behind another decides alone",
			func(a, b stream) stream {
				return engine.EventTime(engine.EventTime(engine.Union(a, b), nil, idle), nil, engine.Ascending())
			},
			scripted{[]moment{{0, 100}}, 20_000},
			scripted{nil, 25_000},
			[]string{"25.0s [0-1000]=2"},
		},
	} {
		for _, parallelism := range []int{1, 3} {
			t.Run(fmt.Sprint(c.name, ", parallelism ", parallelism), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					g := engine.New(engine.Config{Parallelism: parallelism, Clock: func() int64 { return time.Now().UnixMilli() }})
					first := engine.EventTime(engine.From(g, scripted{seconds(40), 40_000}), nil, engine.Ascending())
					u := engine.Union(first, c.second(engine.From(g, c.a), engine.From(g, c.b)))
					counts := engine.CountWindow(engine.Window(engine.KeyBy(u, func(e event) string { return e.Key }), window.Tumbling(time.Second)))
					var rows engine.Rows[string]
					engine.ToRows(engine.Map(counts, func(r engine.Result[string, int64]) string {
						return fmt.Sprintf("%.1fs %v=%d", time.Since(start).Seconds(), r.Window, r.Value)
					}), &rows)
					if err := build(t, g).Run(t.Context()); err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(c.want, rows.All()[:1]); d != "" {
						t.Error(d)
					}
				})
			})
		}
	}
}

func TestMistakesWithTimeAreReportedWhenTheGraphIsBuilt(t *testing.T) {
	clock := func() int64 { return 0 }
	none := engine.Strategy{New: func() engine.Generator { return nil }}
	for _, c := range []struct {
		name     string
		strategy engine.Strategy
		clock    func() int64
		want     error
	}{
		{"no strategy", engine.Strategy{}, nil, engine.ErrNil},
		{"no generator", none, nil, engine.ErrNil},
		{"negative disorder", engine.Bounded(-1 * ms), nil, engine.ErrInvalid},
		{"idleness without a clock", engine.Ascending().WithIdleness(time.Second), nil, engine.ErrNoClock},
		{"idleness at once", engine.Ascending().WithIdleness(0), clock, engine.ErrInvalid},
		{"negative idleness", engine.Ascending().WithIdleness(-time.Second), clock, engine.ErrInvalid},
		{"idleness after less than a millisecond", engine.Ascending().WithIdleness(time.Microsecond), clock, engine.ErrInvalid},
	} {
		g := engine.New(engine.Config{Clock: c.clock})
		var rows engine.Rows[event]
		engine.ToRows(engine.FromSplits(g, []engine.Source[event]{scripted{}, scripted{}}, nil, c.strategy), &rows)
		if _, err := g.Build(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for name, splits := range map[string][]engine.Source[event]{"no splits": nil, "a nil split": {scripted{}, nil}} {
		g := engine.New(engine.Config{})
		var rows engine.Rows[event]
		engine.ToRows(engine.FromSplits(g, splits, nil, engine.Ascending()), &rows)
		if _, err := g.Build(); !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrNil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// marks is a generator of a user's own: the watermark follows every second record, and once goes back by mistake.
type marks struct{ seen, now int64 }

func (m *marks) Observe(ts int64) {
	if m.seen++; ts == 13 {
		panic(errBoom)
	}
	if m.seen%2 == 0 {
		m.now = ts
	}
}
func (m *marks) Current() int64  { return m.now }
func (m *marks) Resume(wm int64) { m.now = wm }

func TestAGeneratorOfAUsersOwn(t *testing.T) {
	made := 0
	strategy := engine.Strategy{New: func() engine.Generator { made++; return &marks{now: engine.MinWatermark} }}
	run := func(stamps ...int64) ([]string, int64, error) {
		g := engine.New(engine.Config{})
		s := engine.EventTime(engine.From(g, engine.Slice(stamps)), func(ts int64) int64 { return ts }, strategy)
		w := engine.Window(engine.KeyBy(engine.Map(s, func(v int64) int64 { return v }), func(int64) int { return 0 }), window.Tumbling(10*ms))
		var rows engine.Rows[string]
		engine.ToRows(engine.Map(engine.CountWindow(w), func(r engine.Result[int, int64]) string { return fmt.Sprint(r.Window, "=", r.Value) }), &rows)
		p := build(t, g)
		err := p.Run(t.Context())
		return rows.All(), p.Progress().LateDropped, err
	}
	// 30 raises the watermark, 5 would lower it: 12 and 3 are late.
	rows, late, err := run(1, 30, 12, 5, 3)
	if d := cmp.Diff([]string{"[0-10]=1", "[30-40]=1"}, rows); d != "" || late != 3 || err != nil {
		t.Error(d, late, err)
	}
	if _, _, err := run(1, 13); err == nil || placeless(err) != "event-time-1: timestamp or watermark failed at record 2 of source-1 (offset 1): panic: boom" {
		t.Error(err)
	}
	if made != 2 {
		t.Errorf("%d generators for 2 streams", made)
	}
}
