package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// Timers at the ends of time: the first fires once time goes on, and may set itself again without going round for ever; the
// last waits for the end of the input.
func TestTimersAtTheEndsOfTime(t *testing.T) {
	for _, domain := range []engine.TimeDomain{engine.InEventTime, engine.InProcessingTime} {
		g := engine.New(engine.Config{})
		out := engine.Process(engine.KeyBy(six(g), func(int) int { return 0 }), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, string] {
			timers, fired := op.Timers(), 0
			set := func(at int64) {
				if domain == engine.InEventTime {
					timers.RegisterEventTime(at)
				} else {
					timers.RegisterProcessingTime(at)
				}
			}
			engine.OnTimer(op, func(c engine.Context, timer engine.Timer[int], emit func(string)) error {
				if fired++; fired > 100 {
					return errors.New("a timer that sets itself again fires without end")
				}
				emit(fmt.Sprint("t", c.Timestamp()))
				set(timer.Time)
				return nil
			})
			return func(_ engine.Context, _, v int, emit func(string)) error {
				emit(fmt.Sprint("r", v))
				if v == 3 {
					set(math.MinInt64)
					set(math.MaxInt64)
				}
				return nil
			}
		})
		var rows engine.Rows[string]
		engine.ToRows(out, &rows)
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		const least, most = "t-9223372036854775808", "t9223372036854775807"
		want := []string{"r1", "r2", "r3", least, "r4", least, "r5", least, "r6", least, most}
		if d := cmp.Diff(want, rows.All()); d != "" {
			t.Errorf("%v: %s", domain, d)
		}
	}
}

// Of two keys with timers of both kinds at the same moments, each fires once, with its key current and its own state.
func TestEachTimerFiresWithItsKey(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		g := engine.New(engine.Config{Parallelism: parallelism})
		letters := engine.From(g, engine.Slice(strings.Split("abcabc", "")))
		out := engine.Process(engine.KeyBy(letters, func(v string) string { return v }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
			timers, own := op.Timers(), engine.ValueOf[string](op, "own")
			engine.OnTimer(op, func(c engine.Context, timer engine.Timer[string], emit func(string)) error {
				if c.Timestamp() != timer.Time {
					return fmt.Errorf("timestamp %d at %d", c.Timestamp(), timer.Time)
				}
				emit(fmt.Sprint(timer.Key, " ", own.Get(), " ", timer.Time, " ", timer.Domain))
				return nil
			})
			return func(_ engine.Context, key, _ string, _ func(string)) error {
				own.Put(own.Get() + key)
				for _, at := range []int64{10, 20} {
					timers.RegisterEventTime(at)
					timers.RegisterProcessingTime(at)
				}
				return nil
			}
		})
		var rows engine.Rows[string]
		engine.ToRows(out, &rows)
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, key := range []string{"a", "b", "c"} {
			for _, at := range []string{"10 event time", "10 processing time", "20 event time", "20 processing time"} {
				want = append(want, key+" "+key+key+" "+at)
			}
		}
		if d := cmp.Diff(want, sorted(rows.All())); d != "" {
			t.Errorf("parallelism %d: %s", parallelism, d)
		}
	}
}

// Of two strategies in a row the last one counts, for timestamps and for watermarks; without a function the timestamp stays.
func TestTheLastTimestampsCount(t *testing.T) {
	twice := func(v int) int64 { return 2 * int64(v) }
	for name, c := range map[string]struct {
		stream func(s engine.Stream[int]) engine.Stream[int]
		want   int64
	}{
		"the source's own": {func(s engine.Stream[int]) engine.Stream[int] { return s }, 100},
		"kept":             {func(s engine.Stream[int]) engine.Stream[int] { return engine.EventTime(s, nil, engine.Ascending()) }, 100},
		"set": {func(s engine.Stream[int]) engine.Stream[int] {
			return engine.EventTime(s, twice, engine.NoWatermarks())
		}, 14},
		"set twice": {func(s engine.Stream[int]) engine.Stream[int] {
			return engine.EventTime(engine.EventTime(s, twice, engine.Ascending()), func(int) int64 { return 200 }, engine.Bounded(time.Hour))
		}, 200},
		"set, then kept": {func(s engine.Stream[int]) engine.Stream[int] {
			return engine.EventTime(engine.EventTime(s, twice, engine.Ascending()), nil, engine.Ascending())
		}, 14},
	} {
		got := collect(t, func(g *engine.Graph) engine.Stream[int64] {
			src := sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error { return c.CollectAt(7, 100) })
			return engine.TryMap(c.stream(engine.From(g, src)), func(c engine.Context, _ int) (int64, error) { return c.Timestamp(), nil })
		})
		if !slices.Equal(got, []int64{c.want}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What functions of windows see and give.
func TestFunctionsOfWholeWindows(t *testing.T) {
	in := []int64{3, 101, 2, 1, 102} // at themselves
	run := func(in []int64, f func(c engine.Context, key string, w window.Window, all []int64, emit func(string)) error) []string {
		return collect(t, func(g *engine.Graph) engine.Stream[string] {
			timed := engine.EventTime(engine.From(g, engine.Slice(in)), func(v int64) int64 { return v }, engine.Bounded(time.Hour))
			return engine.ApplyWindow(engine.Window(engine.KeyBy(timed, func(int64) string { return "key1" }), window.Tumbling(100*ms)), f)
		})
	}
	for name, c := range map[string]struct {
		f    func(c engine.Context, key string, w window.Window, all []int64, emit func(string)) error
		want []string
	}{
		"elements in the order of their arrival": {func(_ engine.Context, key string, _ window.Window, all []int64, emit func(string)) error {
			emit(fmt.Sprint(key, ": ", all))
			return nil
		}, []string{"key1: [3 2 1]", "key1: [101 102]"}},
		"bounds": {func(_ engine.Context, _ string, w window.Window, _ []int64, emit func(string)) error {
			emit(w.String())
			return nil
		}, []string{"[0-100]", "[100-200]"}},
		"several values": {func(_ engine.Context, _ string, _ window.Window, all []int64, emit func(string)) error {
			for _, v := range all {
				emit(fmt.Sprint(v))
			}
			return nil
		}, []string{"3", "2", "1", "101", "102"}},
		"none": {func(engine.Context, string, window.Window, []int64, func(string)) error { return nil }, nil},
		"the time of the last element": {func(c engine.Context, _ string, _ window.Window, _ []int64, emit func(string)) error {
			emit(fmt.Sprint(c.Timestamp()))
			return nil
		}, []string{"3", "102"}},
	} {
		if d := cmp.Diff(c.want, run(in, c.f)); d != "" {
			t.Error(name, d)
		}
	}
	called := func(engine.Context, string, window.Window, []int64, func(string)) error { return errBoom }
	if got := run(nil, called); got != nil {
		t.Error("windows of nothing:", got)
	}
}

// Without records no function of a window is ever called.
func TestWindowsOfNothingAskNobody(t *testing.T) {
	boom := func(int) error { return errBoom }
	for _, call := range []string{"element", "event time", "processing time", "merge", "clear"} {
		g := engine.New(engine.Config{Clock: func() int64 { return 0 }})
		timed := engine.EventTime(engine.From(g, engine.Slice[int](nil)), func(int) int64 { panic("timestamp") }, engine.Ascending())
		w := engine.Window(engine.KeyBy(timed, func(int) int { panic("key") }), boomingWindows{window.Tumbling(time.Second), boom})
		discard(engine.Aggregate(w.WithTrigger(booming{window.OnEventTime(), call, boom}), engine.Aggregation[int, int, int]{
			New: func() int { panic("new") }, Add: func(int, int) int { panic("add") }, Result: func(int) int { panic("result") },
		}))
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Error(call, err)
		}
	}
}
