package engine_test

import (
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// allocations is how many there are for each record that a graph is given.
func allocations(t *testing.T, parallelism int, graph func(s engine.Stream[int64])) float64 {
	t.Helper()
	clock := int64(0)
	run := func(n int64) float64 {
		return testing.AllocsPerRun(2, func() {
			g := engine.New(engine.Config{Parallelism: parallelism, Clock: func() int64 { return clock }})
			graph(engine.From(g, counting(n)))
			if err := build(t, g).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	const few, many = 5_000, 25_000
	return (run(many) - run(few)) / (many - few)
}

func hundred(v int64) int64 { return v % 100 }

// stateful is a stream of a process function for each of a hundred keys.
func stateful(setup func(op *engine.Keyed[int64]) func(c engine.Context, v int64)) func(engine.Stream[int64]) {
	return func(s engine.Stream[int64]) {
		discard(engine.Process(engine.KeyBy(s, hundred), func(op *engine.Keyed[int64]) engine.ProcessFunc[int64, int64, int64] {
			f := setup(op)
			return func(c engine.Context, _, v int64, emit func(int64)) error {
				f(c, v)
				emit(v)
				return nil
			}
		}))
	}
}

// fired is a timer function that does nothing.
func fired(engine.Context, engine.Timer[int64], func(int64)) error { return nil }

// What a record needs is there already, whatever state, window or exchange it comes to.
func TestStateDoesNotAllocateForEachRecord(t *testing.T) {
	for name, graph := range map[string]func(engine.Stream[int64]){
		"timers that are put off with each record": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			timers, last := op.Timers(), engine.ValueOf[int64](op, "last")
			engine.OnTimer(op, fired)
			return func(c engine.Context, _ int64) {
				timers.DeleteEventTime(last.Get())
				last.Put(c.Timestamp() + 1000)
				timers.RegisterEventTime(c.Timestamp() + 1000)
			}
		}),
		"timers that fire": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			timers := op.Timers()
			engine.OnTimer(op, fired)
			return func(c engine.Context, _ int64) { timers.RegisterEventTime(c.Timestamp() + 50) }
		}),
		"timers of the clock": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			timers := op.Timers()
			engine.OnTimer(op, fired)
			return func(_ engine.Context, v int64) {
				timers.RegisterProcessingTime(v + 1)
				timers.DeleteProcessingTime(v + 1)
			}
		}),
		"values that live for an hour": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			n := engine.Declare(op, engine.Descriptor[int64]{Name: "n", TTL: engine.TTL{After: time.Hour, OnRead: true}})
			return func(engine.Context, int64) { n.Put(n.Get() + 1) }
		}),
		"values that have expired": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			n := engine.Declare(op, engine.Descriptor[int64]{Name: "n", TTL: engine.TTL{After: 20 * ms}})
			return func(engine.Context, int64) { n.Put(n.Get() + 1) }
		}),
		"values that come and go": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			n := engine.ValueOf[int64](op, "n")
			return func(_ engine.Context, v int64) {
				if _, ok := n.Lookup(); ok {
					n.Clear()
				} else {
					n.Put(v)
				}
			}
		}),
		"a map of few keys": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			m := engine.MapOf[int64, int64](op, "m")
			return func(_ engine.Context, v int64) {
				n, _ := m.Get(v % 7)
				m.Put(v%7, n+1)
			}
		}),
		"reducing and aggregating state": stateful(func(op *engine.Keyed[int64]) func(engine.Context, int64) {
			r := engine.ReducingOf(op, "r", func(a, b int64) int64 { return max(a, b) })
			a := engine.AggregatingOf(op, "a", engine.Aggregation[int64, int64, int64]{Add: add, Result: func(n int64) int64 { return n }})
			return func(_ engine.Context, v int64) { r.Add(v); a.Add(v) }
		}),
		"a side output": func(s engine.Stream[int64]) {
			tag := engine.NewSideOutput[int64]("side")
			main := engine.Process(engine.KeyBy(s, hundred), func(op *engine.Keyed[int64]) engine.ProcessFunc[int64, int64, int64] {
				out := engine.OutputTo(op, tag)
				return func(_ engine.Context, _, v int64, _ func(int64)) error { out(v); return nil }
			})
			discard(engine.Side(main, tag))
		},
		"a map that keeps keys": func(s engine.Stream[int64]) {
			k := engine.MapKeyed(engine.KeyBy(s, hundred), func(k, v int64) int64 { return k + v })
			discard(engine.Reduce(k, add))
		},
		"count, minimum and maximum": func(s engine.Stream[int64]) {
			k := engine.KeyBy(s, hundred)
			discard(engine.Count(k))
			discard(engine.Union(engine.Min(k, hundred), engine.Max(k, hundred)))
		},
		"a union": func(s engine.Stream[int64]) {
			even := engine.Filter(s, func(v int64) bool { return v%2 == 0 })
			discard(engine.EventTime(engine.Union(even, engine.EventTime(s, nil, engine.Ascending())), nil, engine.Ascending()))
		},
		"a stream that may fall idle": func(s engine.Stream[int64]) {
			discard(engine.EventTime(s, nil, engine.Ascending().WithIdleness(time.Hour)))
		},
		"windows of few records": func(s engine.Stream[int64]) {
			w := engine.Window(engine.KeyBy(engine.EventTime(s, nil, engine.Ascending()), hundred), window.Tumbling(200*ms))
			discard(engine.CountWindow(w))
		},
		"overlapping windows of few records": func(s engine.Stream[int64]) {
			w := engine.Window(engine.KeyBy(engine.EventTime(s, nil, engine.Ascending()), hundred), window.Sliding(1000*ms, 200*ms))
			discard(engine.CountWindow(w))
		},
		"sessions of one record": func(s engine.Stream[int64]) {
			w := engine.Window(engine.KeyBy(engine.EventTime(s, nil, engine.Ascending()), hundred), window.Session(50*ms))
			discard(engine.CountWindow(w))
		},
		"windows by count": func(s engine.Stream[int64]) {
			discard(engine.CountWindow(engine.Window(engine.KeyBy(s, hundred), window.Count(3))))
		},
		"late records": func(s engine.Stream[int64]) {
			falling := engine.EventTime(s, func(v int64) int64 { return -1000 * v }, engine.Ascending())
			w := engine.Window(engine.KeyBy(falling, hundred), window.Tumbling(time.Second)).WithLateness(time.Second)
			discard(engine.CountWindow(w))
		},
		"rows of a file": func(s engine.Stream[int64]) {
			engine.ToFile(s, t.TempDir()+"/out", formatNumber)
		},
	} {
		for _, parallelism := range []int{1, 2} {
			// A window allocates once or twice, for at least 200 records; what goroutines do meanwhile is not the record's matter.
			if n := allocations(t, parallelism, graph); n > 0.03 {
				t.Errorf("%s, parallelism %d: %.3f allocations for each record", name, parallelism, n)
			}
		}
	}
}
