package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// setup declares what a process function has.
type setup func(op *engine.Keyed[string])

func ofValues[V any](version int, ttl time.Duration) setup {
	return func(op *engine.Keyed[string]) {
		engine.Declare(op, engine.Descriptor[V]{Name: "v", Version: version, TTL: engine.TTL{After: ttl}})
	}
}

func process(s setup) func(engine.Stream[event]) engine.Stream[int64] {
	return func(in engine.Stream[event]) engine.Stream[int64] {
		return engine.Process(byText(in), func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, int64] {
			s(op)
			return func(engine.Context, string, event, func(int64)) error { return nil }
		}).WithUID("subject")
	}
}

func byText(s engine.Stream[event]) engine.KeyedStream[string, event] {
	return engine.KeyBy(s, func(e event) string { return e.Key })
}

func byNumber(s engine.Stream[event]) engine.KeyedStream[int64, event] {
	return engine.KeyBy(s, func(e event) int64 { return e.N })
}

func ofTimers[K comparable](k engine.KeyedStream[K, event]) engine.Stream[int64] {
	return engine.Process(k, func(op *engine.Keyed[K]) engine.ProcessFunc[K, event, int64] {
		timers := op.Timers()
		engine.OnTimer(op, func(engine.Context, engine.Timer[K], func(int64)) error { return nil })
		return func(engine.Context, K, event, func(int64)) error {
			timers.RegisterEventTime(1 << 40)
			return nil
		}
	}).WithUID("subject")
}

func ofWindows[K comparable](
	by func(engine.Stream[event]) engine.KeyedStream[K, event], a window.Assigner,
) func(engine.Stream[event]) engine.Stream[int64] {
	return func(s engine.Stream[event]) engine.Stream[int64] {
		counts := engine.CountWindow(engine.Window(by(s), a)).WithUID("subject")
		return engine.Map(counts, func(r engine.Result[K, int64]) int64 { return r.Value })
	}
}

func ofUnion(inputs int) func(engine.Stream[event]) engine.Stream[int64] {
	return func(s engine.Stream[event]) engine.Stream[int64] {
		u := engine.Union(s, slices.Repeat([]engine.Stream[event]{s}, inputs-1)...).WithUID("subject")
		return engine.Map(u, func(e event) int64 { return e.N })
	}
}

// State of one kind and type is refused by state of another, by its name, also where neither holds anything.
func TestStateOfAnotherKindIsRefused(t *testing.T) {
	kinds := map[string]func(engine.Stream[event]) engine.Stream[int64]{
		"a value":         process(ofValues[int64](0, 0)),
		"of version 2":    process(ofValues[int64](2, 0)),
		"of another type": process(ofValues[float64](0, 0)),
		"of a struct":     process(ofValues[struct{ A, B int64 }](0, 0)),
		"that expires":    process(ofValues[int64](0, time.Second)),
		"a list":          process(func(op *engine.Keyed[string]) { engine.ListOf[int64](op, "v") }),
		"a list of texts": process(func(op *engine.Keyed[string]) { engine.ListOf[string](op, "v") }),
		"a map":           process(func(op *engine.Keyed[string]) { engine.MapOf[int64, int64](op, "v") }),
		"a map of texts":  process(func(op *engine.Keyed[string]) { engine.MapOf[string, int64](op, "v") }),
		"reducing floats": process(func(op *engine.Keyed[string]) {
			engine.ReducingOf(op, "v", func(a, b float32) float32 { return min(a, b) })
		}),
		"aggregating": process(func(op *engine.Keyed[string]) {
			engine.AggregatingOf(op, "v", engine.Aggregation[int64, []int32, int]{
				Add:    func(acc []int32, _ int64) []int32 { return acc },
				Result: func([]int32) int { return 0 },
			})
		}),
		"timers":             func(s engine.Stream[event]) engine.Stream[int64] { return ofTimers(byText(s)) },
		"timers of numbers":  func(s engine.Stream[event]) engine.Stream[int64] { return ofTimers(byNumber(s)) },
		"windows":            ofWindows(byText, window.Tumbling(time.Second)),
		"windows of numbers": ofWindows(byNumber, window.Tumbling(time.Second)),
		"other windows":      ofWindows(byText, window.Tumbling(time.Minute)),
		"sessions":           ofWindows(byText, window.Session(time.Second)),
		"a union of two":     ofUnion(2),
		"a union of three":   ofUnion(3),
	}
	// What is kept in the same way is the same.
	same := process(func(op *engine.Keyed[string]) {
		engine.ReducingOf(op, "v", func(a, b int64) int64 { return min(a, b) })
	})
	for _, parallelism := range []int{1, 2} {
		graph := func(kind func(engine.Stream[event]) engine.Stream[int64]) *engine.Pipeline {
			g := engine.New(engine.Config{MaxParallelism: 4, Parallelism: parallelism})
			in := engine.From(g, watched{[]event{{"a", 1, 1}, {"b", 2, 2}}, calm().before})
			engine.ForEach(kind(in), func(engine.Context, int64) error { return nil })
			return build(t, g)
		}
		for name, kind := range kinds {
			p := graph(kind)
			cut := encode(t, mustCut(t, p, 1))
			for other, it := range kinds {
				q := graph(it)
				delete(cut, "exchange-1") // which another kind of key would refuse first
				if moved, ok := encode(t, mustCut(t, q, 1))["exchange-1"]; ok {
					cut["exchange-1"] = moved
				}
				err := q.Restore(t.Context(), cut, engine.Adopt)
				if other == name {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "subject") {
					t.Errorf("%s restored as %s: %v", name, other, err)
				}
			}
		}
		cut := encode(t, mustCut(t, graph(kinds["a value"]), 1))
		if err := graph(same).Restore(t.Context(), cut, engine.Adopt); err != nil {
			t.Error(err)
		}
		if err := graph(kinds["of another type"]).Restore(t.Context(), cut, engine.Adopt); !errors.Is(err, state.ErrSchema) {
			t.Error(err)
		}
	}
}
