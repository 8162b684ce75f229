package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// gathered runs a stream of a source with a number of subtasks; the rows are in any order, so they come sorted.
func gathered[T any](t *testing.T, parallelism int, src engine.Source[int], stream func(engine.Stream[int]) engine.Stream[T]) []string {
	t.Helper()
	g := engine.New(engine.Config{Parallelism: parallelism})
	var rows engine.Rows[string]
	engine.ToRows(engine.TryMap(stream(engine.From(g, src)), func(c engine.Context, v T) (string, error) {
		return fmt.Sprint(v, "@", c.Timestamp()), nil
	}), &rows)
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sorted(rows.All())
}

// operators are one of each kind, as streams of numbers from numbers.
var operators = map[string]func(engine.Stream[int]) engine.Stream[int]{
	"map": func(s engine.Stream[int]) engine.Stream[int] { return engine.Map(s, same) },
	"map that may fail": func(s engine.Stream[int]) engine.Stream[int] {
		return engine.TryMap(s, func(_ engine.Context, v int) (int, error) { return v, nil })
	},
	"filter": func(s engine.Stream[int]) engine.Stream[int] { return engine.Filter(s, func(int) bool { return true }) },
	"flat-map": func(s engine.Stream[int]) engine.Stream[int] {
		return engine.FlatMap(s, func(v int, emit func(int)) { emit(v) })
	},
	"flat-map that may fail": func(s engine.Stream[int]) engine.Stream[int] {
		return engine.TryFlatMap(s, func(_ engine.Context, v int, emit func(int)) error { emit(v); return nil })
	},
	"rebalance":  engine.Rebalance[int],
	"union":      func(s engine.Stream[int]) engine.Stream[int] { return engine.Union(s) },
	"event time": func(s engine.Stream[int]) engine.Stream[int] { return engine.EventTime(s, nil, engine.Ascending()) },
	"reduce": func(s engine.Stream[int]) engine.Stream[int] {
		return engine.Reduce(engine.KeyBy(s, same), func(a, _ int) int { return a })
	},
	"sum":     func(s engine.Stream[int]) engine.Stream[int] { return engine.Sum(engine.KeyBy(s, same), same) },
	"minimum": func(s engine.Stream[int]) engine.Stream[int] { return engine.Min(engine.KeyBy(s, same), same) },
	"maximum": func(s engine.Stream[int]) engine.Stream[int] { return engine.Max(engine.KeyBy(s, same), same) },
	"count behind a map that keeps keys": func(s engine.Stream[int]) engine.Stream[int] {
		k := engine.MapKeyed(engine.KeyBy(s, same), func(key, v int) string { return fmt.Sprint(key, v) })
		return engine.Map(engine.Count(k), func(n int64) int { return int(n) + 6 })
	},
	"process": func(s engine.Stream[int]) engine.Stream[int] {
		return engine.Process(engine.KeyBy(s, same), func(*engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
			return func(_ engine.Context, _, v int, emit func(int)) error { emit(v); return nil }
		})
	},
	"reduce in windows": func(s engine.Stream[int]) engine.Stream[int] {
		w := engine.Window(engine.KeyBy(s, same), window.Tumbling(time.Second))
		return values(engine.ReduceWindow(w, func(a, _ int) int { return a }))
	},
	"apply to windows": func(s engine.Stream[int]) engine.Stream[int] {
		w := engine.Window(engine.KeyBy(s, same), window.Session(time.Second))
		return engine.ApplyWindow(w, func(_ engine.Context, _ int, _ window.Window, all []int, emit func(int)) error {
			emit(all[0])
			return nil
		})
	},
	"global window": func(s engine.Stream[int]) engine.Stream[int] {
		return values(engine.ReduceWindow(engine.Window(engine.KeyBy(s, same), window.Global()), func(a, _ int) int { return a }))
	},
	"count window": func(s engine.Stream[int]) engine.Stream[int] {
		return values(engine.ReduceWindow(engine.Window(engine.KeyBy(s, same), window.Count(2)), func(a, _ int) int { return a }))
	},
}

// Nothing in gives nothing out, and one record is itself, whatever the operator.
func TestEveryOperatorOfNothingAndOfOneRecord(t *testing.T) {
	for name, op := range operators {
		for _, parallelism := range []int{1, 3} {
			if got := gathered(t, parallelism, engine.Slice[int](nil), op); got != nil {
				t.Errorf("%s of nothing, parallelism %d: %v", name, parallelism, got)
			}
			if got := gathered(t, parallelism, engine.Slice([]int{7}), op); !slices.Equal(got, []string{"7@0"}) {
				t.Errorf("%s of a 7, parallelism %d: %v", name, parallelism, got)
			}
		}
	}
}

// Any timestamp and any value is legal, and neither is changed on the way; equal records are still two.
func TestTimestampsAreLegalToTheEndsOfTime(t *testing.T) {
	stamps := []int64{math.MinInt64, -1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	src := sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
		var err error
		for i, ts := range stamps {
			err = errors.Join(err, c.CollectAt([]int{math.MinInt64, -1, -1, 0, 1, 2, math.MaxInt64}[i], ts))
		}
		return err
	})
	for name, op := range operators {
		if strings.Contains(name, "window") || strings.Contains(name, "count") || name == "sum" {
			continue // they give other values
		}
		for _, parallelism := range []int{1, 3} {
			want := gathered(t, 1, src, func(s engine.Stream[int]) engine.Stream[int] { return s })
			if d := cmp.Diff(want, gathered(t, parallelism, src, op)); d != "" || len(want) != len(stamps) {
				t.Errorf("%s, parallelism %d: %s", name, parallelism, d)
			}
		}
	}
}

// A window that reaches beyond the ends of time takes nothing along: each record is in a window, or counted.
func TestWindowsAtTheEndsOfTime(t *testing.T) {
	stamps := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 1000, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range []window.Assigner{
		window.Tumbling(time.Second), window.Tumbling(ms), window.Session(time.Second), window.Session(0), window.Global(), window.Count(2),
		window.Sliding(time.Second, time.Minute), window.Tumbling(time.Second).WithOffset(-999 * ms),
	} {
		for _, late := range []time.Duration{0, time.Hour} {
			for _, strategy := range []engine.Strategy{engine.NoWatermarks(), engine.Ascending(), engine.Bounded(time.Hour)} {
				g := engine.New(engine.Config{})
				timed := engine.EventTime(engine.From(g, engine.Slice(stamps)), func(ts int64) int64 { return ts }, strategy)
				w := engine.Window(engine.KeyBy(timed, func(int64) int { return 0 }), a)
				if late > 0 {
					w = w.WithTrigger(window.Purging(window.OnEventTime())).WithLateness(late)
				}
				var counts engine.Rows[int64]
				engine.ToRows(values(engine.CountWindow(w)), &counts)
				p := build(t, g)
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				of := p.Progress().Windows[0]
				n := of.LateDropped + of.Unplaced
				for _, c := range counts.All() {
					n += c
				}
				if n != int64(len(stamps)) {
					t.Errorf("%s, lateness %v: %d records are accounted for: %v, %+v", a, late, n, counts.All(), of)
				}
			}
		}
	}
}

// Functions are called once for each record, when it is asked for and not before.
func TestAPulledStreamCallsItsFunctionsOnce(t *testing.T) {
	calls := 0
	g := engine.New(engine.Config{})
	kept := engine.Filter(six(g), func(v int) bool { calls++; return v%2 == 0 })
	var text strings.Builder
	engine.ToWriter(kept, &text)
	if err := build(t, g).Run(t.Context()); err != nil || calls != 6 || text.String() != "2\n4\n6\n" {
		t.Errorf("%v, %d calls, %q", err, calls, text.String())
	}
	g = engine.New(engine.Config{})
	engine.ToWriter(engine.From(g, engine.Slice([]any{nil, 1, "x", errBoom})), io.Discard) // any stream can be printed
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Error(err)
	}
}
