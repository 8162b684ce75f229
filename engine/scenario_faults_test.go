package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/engine"
)

// failingCase is a function of a user's that fails when it is called for the value 2, which is record 2 of the source.
type failingCase struct {
	name           string
	operator, what string
	record         int64 // that the error names; 0 where it depends on the order of subtasks, or is none
	graph          func(g *engine.Graph, boom func(v int) error)
	whole          bool // it fails outside of a record, so that the state can still be cut
}

// Whatever function fails, by an error or a panic, in however many subtasks: the run ends with the name of the operator, what it
// was doing and where, and the cause; nothing goes on, and no cut is taken of half a record.
func TestAFailingFunctionEndsTheRunWithItsName(t *testing.T) {
	for _, f := range slices.Concat(failingOperators(), failingEdges(t.TempDir()), failingWindows()) {
		for _, parallelism := range []int{1, 3} {
			for how, boom := range map[string]func() error{"an error": func() error { return errBoom }, "a panic": func() error { panic(errBoom) }} {
				t.Run(fmt.Sprint(f.name, ", ", how, ", parallelism ", parallelism), func(t *testing.T) {
					f.run(t, parallelism, func(v int) error {
						if v == 2 {
							return boom()
						}
						return nil
					})
				})
			}
		}
	}
}

func (f failingCase) run(t *testing.T, parallelism int, boom func(v int) error) {
	defer goleak.VerifyNone(t)
	g := engine.New(engine.Config{Parallelism: parallelism, Clock: func() int64 {
		if f.operator == "clock" {
			must(boom(2))
		}
		return 1000
	}})
	f.graph(g, boom)
	p := build(t, g)
	err := p.Run(t.Context())
	var named *engine.OperatorError
	if !errors.Is(err, errBoom) || !errors.As(err, &named) {
		t.Fatalf("%T: %v", err, err)
	}
	if named.Operator != f.operator || named.What != f.what || named.Subtask >= max(1, named.Subtasks) {
		t.Errorf("%+v", named)
	}
	if f.record > 0 && (named.Record != f.record || named.Source != "source-1" || named.Offset < 1) {
		t.Errorf("at record %d of %q, offset %d", named.Record, named.Source, named.Offset)
	}
	for _, part := range []string{f.operator, ": " + f.what, ": boom"} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), "panic: ", ""), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if _, err := p.Cut(t.Context(), 1); errors.Is(err, engine.ErrFailed) == f.whole {
		t.Error("cut:", err)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// six are the numbers from 1 to 6.
func six(g *engine.Graph) engine.Stream[int] {
	return engine.From(g, engine.Slice([]int{1, 2, 3, 4, 5, 6}))
}

func sixKeyed(g *engine.Graph) engine.KeyedStream[int, int] {
	return engine.KeyBy(six(g), func(v int) int { return v % 3 })
}

func discard[T any](s engine.Stream[T]) {
	engine.ForEach(s, func(engine.Context, T) error { return nil })
}

func same(v int) int { return v }

// doing processes six numbers of three keys.
func doing(g *engine.Graph, setup func(op *engine.Keyed[int]) func(v int, emit func(int)) error) engine.Stream[int] {
	return engine.Process(sixKeyed(g), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
		f := setup(op)
		return func(_ engine.Context, _, v int, emit func(int)) error { return f(v, emit) }
	})
}

// failingOperators lists the functions of operators that see one record after the other.
func failingOperators() []failingCase {
	const process = "keyed process function failed"
	return []failingCase{
		{"map", "map-1", "map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Map(six(g), func(v int) int { must(boom(v)); return v }))
		}, false},
		{"map that may fail, behind a rebalance", "map-1", "map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.TryMap(engine.Rebalance(six(g)), func(_ engine.Context, v int) (int, error) { return v, boom(v) }))
		}, false},
		{"map that keeps keys", "map-1", "map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Count(engine.MapKeyed(sixKeyed(g), func(_, v int) int { must(boom(v)); return v })))
		}, false},
		{"filter", "filter-1", "filter function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Filter(six(g), func(v int) bool { must(boom(v)); return true }))
		}, false},
		{"flat-map", "flat-map-1", "flat-map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.FlatMap(six(g), func(v int, emit func(int)) { emit(v); must(boom(v)) }))
		}, false},
		{"flat-map that may fail", "flat-map-1", "flat-map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.TryFlatMap(six(g), func(_ engine.Context, v int, emit func(int)) error { emit(v); return boom(v) }))
		}, false},
		{"key", "key-by-1", "key function failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Count(engine.KeyBy(six(g), func(v int) int { must(boom(v)); return v })))
		}, false},
		{"reduce", "reduce-1", "reduce function failed", 2, func(g *engine.Graph, boom func(int) error) {
			one := engine.KeyBy(six(g), func(int) int { return 0 })
			discard(engine.Reduce(one, func(_, v int) int { must(boom(v)); return v }))
		}, false},
		{"number of a sum", "process-1", process, 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Sum(sixKeyed(g), func(v int) int { must(boom(v)); return v }))
		}, false},
		{"number of a minimum", "process-1", process, 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.Min(sixKeyed(g), func(v int) int { must(boom(v)); return v }))
		}, false},
		{"process", "process-1", process, 2, func(g *engine.Graph, boom func(int) error) {
			discard(doing(g, func(*engine.Keyed[int]) func(int, func(int)) error {
				return func(v int, emit func(int)) error { emit(v); return boom(v) }
			}))
		}, false},
		{"reducing state", "process-1", process, 0, func(g *engine.Graph, boom func(int) error) {
			discard(doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				r := engine.ReducingOf(op, "r", func(_, v int) int { must(boom(2)); return v })
				return func(v int, _ func(int)) error { r.Add(v); return nil }
			}))
		}, false},
		{"aggregating state", "process-1", process, 2, func(g *engine.Graph, boom func(int) error) {
			discard(doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				a := engine.AggregatingOf(op, "a", engine.Aggregation[int, int, int]{
					Add: func(acc, v int) int { must(boom(v)); return acc + v }, Result: same,
				})
				return func(v int, _ func(int)) error { a.Add(v); return nil }
			}))
		}, false},
		{"what reads a side output", "map-1", "map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			tag := engine.NewSideOutput[int]("side")
			s := doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				out := engine.OutputTo(op, tag)
				return func(v int, _ func(int)) error { out(v); return nil }
			})
			discard(engine.TryMap(engine.Side(s, tag), func(_ engine.Context, v int) (int, error) { return v, boom(v) }))
		}, false},
		{"timestamps", "event-time-1", "timestamp or watermark failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.EventTime(six(g), func(v int) int64 { must(boom(v)); return int64(v) }, engine.Ascending()))
		}, false},
		{"timestamps of a split", "event-time-1", "timestamp or watermark failed", 2, func(g *engine.Graph, boom func(int) error) {
			splits := []engine.Source[int]{engine.Slice([]int{1, 2, 3})}
			discard(engine.FromSplits(g, splits, func(v int) int64 { must(boom(v)); return int64(v) }, engine.Ascending()))
		}, false},
		{"watermarks, at a record", "event-time-1", "timestamp or watermark failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.EventTime(six(g), func(v int) int64 { return int64(v) }, watermarksThat(boom, true)))
		}, false},
		{"watermarks, when asked", "event-time-1", "timestamp or watermark failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.EventTime(six(g), func(v int) int64 { return int64(v) }, watermarksThat(boom, false)))
		}, false},
	}
}
