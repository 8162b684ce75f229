package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// moment is a record of a scripted split: when it comes, in milliseconds, and its timestamp.
type moment struct{ at, ts int64 }

// scripted is a split whose records come at given times after the start of its bubble, and which ends at one. It can seek.
type scripted struct {
	lines []moment
	end   int64
}

func (s scripted) Seekable() bool { return true }

func (s scripted) Run(ctx context.Context, c *engine.Collector[event]) error {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of every bubble
	until := func(at int64) {
		select {
		case <-time.After(time.Until(start.Add(time.Duration(at) * ms))):
		case <-ctx.Done():
		}
	}
	for _, l := range s.lines[c.From():] {
		until(l.at)
		if err := c.CollectAt(event{"k", l.ts, 1}, l.ts); err != nil {
			return err
		}
	}
	until(s.end)
	return nil
}

// seconds are n lines, one a second from half a second on, whose timestamps are the time.
func seconds(n int64) (all []moment) {
	for i := range n {
		all = append(all, moment{1000*i + 500, 1000*i + 500})
	}
	return all
}

// splitJob counts the records of each second, and says when each count comes. busy is how long the record of that timestamp takes.
func splitJob(t *testing.T, parallelism int, rows *engine.Rows[string], busy map[int64]time.Duration, splits ...scripted) *engine.Pipeline {
	t.Helper()
	start := time.Now()
	g := engine.New(engine.Config{Parallelism: parallelism, Queue: 1, Clock: func() int64 { return time.Now().UnixMilli() }})
	var sources []engine.Source[event]
	for _, s := range splits {
		sources = append(sources, s)
	}
	s := engine.FromSplits(g, sources, nil, engine.Ascending().WithIdleness(10*time.Second))
	s = engine.TryMap(s, func(_ engine.Context, e event) (event, error) {
		time.Sleep(busy[e.TS])
		return e, nil
	})
	counts := engine.CountWindow(engine.Window(engine.KeyBy(s, func(e event) string { return e.Key }), window.Tumbling(time.Second)))
	engine.ToRows(engine.Map(counts, func(r engine.Result[string, int64]) string {
		return fmt.Sprintf("%.1fs %v=%d", time.Since(start).Seconds(), r.Window, r.Value)
	}), rows)
	return build(t, g)
}

func TestSplitsThatFallSilent(t *testing.T) {
	for _, c := range []struct {
		name string
		busy map[int64]time.Duration
		a, b scripted
		want []string
		late int64
	}{
		{
			"the watermark waits for the slower of two active ones", nil,
			scripted{[]moment{{0, 500}, {100, 5500}}, 9000},
			scripted{[]moment{{0, 100}, {5000, 1200}}, 9000},
			[]string{"5.0s [0-1000]=2", "9.0s [1000-2000]=1", "9.0s [5000-6000]=1"},
			0,
		},
		{
			"a silent one is not waited for after ten seconds", nil,
			scripted{[]moment{{0, 500}, {8000, 5500}}, 99_000},
			scripted{[]moment{{2000, 100}}, 60_000},
			[]string{"12.0s [0-1000]=2", "99.0s [5000-6000]=1"},
			0,
		},
		{
			"while all are idle the watermark stays; it goes on when the one ends that held it back", nil,
			scripted{[]moment{{0, 500}, {100, 5500}}, 99_000},
			scripted{[]moment{{2000, 100}}, 60_000},
			[]string{"60.0s [0-1000]=2", "99.0s [5000-6000]=1"},
			0,
		},
		{
			"one that comes back is active again, and late where the others have passed", nil,
			scripted{seconds(18), 18_000},
			scripted{[]moment{{0, 100}, {10_100, 200}, {12_200, 10_100}}, 18_000},
			[]string{
				"10.0s [0-1000]=2", "10.0s [1000-2000]=1", "10.0s [2000-3000]=1", "10.0s [3000-4000]=1", "10.0s [4000-5000]=1",
				"10.0s [5000-6000]=1", "10.0s [6000-7000]=1", "10.0s [7000-8000]=1", "10.0s [8000-9000]=1",
				"12.2s [9000-10000]=1", "18.0s [10000-11000]=2", "18.0s [11000-12000]=1", "18.0s [12000-13000]=1",
				"18.0s [13000-14000]=1", "18.0s [14000-15000]=1", "18.0s [15000-16000]=1", "18.0s [16000-17000]=1", "18.0s [17000-18000]=1",
			},
			1,
		},
		{
			"one ends while the other is idle and ahead: what it held back goes on", nil,
			scripted{[]moment{{0, 3500}}, 30_000},
			scripted{[]moment{{0, 100}, {9000, 200}}, 15_000},
			[]string{"15.0s [0-1000]=2", "30.0s [3000-4000]=1"},
			0,
		},
		{
			"one ends while the other is idle and behind: it stays", nil,
			scripted{[]moment{{0, 100}}, 30_000},
			scripted{[]moment{{1000, 3500}, {12_000, 4500}}, 15_000},
			[]string{"10.0s [0-1000]=1", "12.0s [3000-4000]=1", "30.0s [4000-5000]=1"},
			0,
		},
		{
			"a record that waits for a busy task is no silence",
			map[int64]time.Duration{5000: time.Minute},
			scripted{[]moment{{500, 5000}}, 65_000},
			scripted{[]moment{{0, 100}, {9000, 200}, {9000, 300}, {9000, 400}, {60_400, 500}}, 65_000},
			[]string{"65.0s [0-1000]=5", "65.0s [5000-6000]=1"},
			0,
		},
		{
			"no records at all", nil,
			scripted{nil, 30_000},
			scripted{[]moment{{20_000, 500}, {21_000, 1500}}, 40_000},
			[]string{"21.0s [0-1000]=1", "40.0s [1000-2000]=1"},
			0,
		},
	} {
		for _, parallelism := range []int{1, 3} {
			t.Run(fmt.Sprint(c.name, ", parallelism ", parallelism), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var rows engine.Rows[string]
					p := splitJob(t, parallelism, &rows, c.busy, c.a, c.b)
					if err := p.Run(t.Context()); err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(c.want, rows.All()); d != "" || p.Progress().LateDropped != c.late {
						t.Error(d, p.Progress().LateDropped)
					}
				})
			})
		}
	}
}

// A run is cut while a split is idle. The next one does not wait for that split: its idleness was in the cut.
func TestIdlenessIsAdopted(t *testing.T) {
	a := scripted{append(seconds(12), moment{13_500, 13_500}, moment{14_500, 14_500}), 40_000}
	b := scripted{[]moment{{0, 100}, {20_000, 14_600}, {21_000, 16_000}}, 40_000}
	for _, parallelism := range [][2]int{{1, 1}, {3, 3}, {1, 3}, {3, 1}, {2, 3}} {
		synctest.Test(t, func(t *testing.T) {
			var rows engine.Rows[string]
			first := splitJob(t, parallelism[0], &rows, nil, a, b)
			ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
			defer cancel()
			if err := first.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			items := encode(t, mustCut(t, first, 1))
			flags := 0
			for _, name := range []string{"watermark-1", "watermark-1@1", "watermark-2", "watermark-2@1"} {
				if b := items[name]; len(b) > 0 && b[len(b)-1] == 1 {
					flags++
				}
			}
			if flags != 1 {
				t.Errorf("%d idle splits in the cut", flags)
			}
			before := rows.Len()
			second := splitJob(t, parallelism[1], &rows, nil, a, b)
			if err := errors.Join(second.Restore(t.Context(), items, engine.Adopt), second.Run(t.Context())); err != nil {
				t.Fatal(err)
			}
			// The second job is put together at 12 s: the record of 13.5 s comes after 1.5 s, and the first split is idle at 24.5 s.
			want := []string{"1.5s [11000-12000]=1", "2.5s [13000-14000]=1", "12.5s [14000-15000]=2", "28.0s [16000-17000]=1"}
			if d := cmp.Diff(want, rows.All()[before:]); d != "" {
				t.Error(parallelism, d)
			}
		})
	}
}
