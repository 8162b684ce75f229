package engine_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// A function, source, sink or tag that is nil is reported by Build, wherever it is missing.
func TestNothingMayBeNil(t *testing.T) {
	hour := func(g *engine.Graph) engine.WindowedStream[int, int] {
		return engine.Window(sixKeyed(g), window.Tumbling(time.Hour))
	}
	inProcess := func(setup func(op *engine.Keyed[int])) func(g *engine.Graph) {
		return func(g *engine.Graph) {
			discard(doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				setup(op)
				return func(int, func(int)) error { return nil }
			}))
		}
	}
	ok := func() ([]byte, error) { return nil, nil }
	for name, put := range map[string]func(g *engine.Graph){
		"a source":                 func(g *engine.Graph) { discard(engine.From[int](g, nil)) },
		"a sequence that may fail": func(g *engine.Graph) { discard(engine.From(g, engine.Seq2[int](nil))) },
		"a split": func(g *engine.Graph) {
			discard(engine.FromSplits(g, []engine.Source[int]{nil}, nil, engine.Ascending()))
		},
		"a map that keeps keys":        func(g *engine.Graph) { discard(engine.Count(engine.MapKeyed[int, int, int](sixKeyed(g), nil))) },
		"a flat-map that may fail":     func(g *engine.Graph) { discard(engine.TryFlatMap[int, int](six(g), nil)) },
		"a sum":                        func(g *engine.Graph) { discard(engine.Sum[int, int, int](sixKeyed(g), nil)) },
		"a minimum":                    func(g *engine.Graph) { discard(engine.Min[int, int, int](sixKeyed(g), nil)) },
		"a maximum":                    func(g *engine.Graph) { discard(engine.Max[int, int, int](sixKeyed(g), nil)) },
		"a strategy":                   func(g *engine.Graph) { discard(engine.EventTime(six(g), nil, engine.Strategy{})) },
		"an assigner":                  func(g *engine.Graph) { discard(engine.CountWindow(engine.Window(sixKeyed(g), nil).WithLateness(1))) },
		"a trigger":                    func(g *engine.Graph) { discard(engine.CountWindow(hour(g).WithTrigger(nil))) },
		"what a purging trigger is of": func(g *engine.Graph) { discard(engine.CountWindow(hour(g).WithTrigger(window.Purging(nil)))) },
		"a reduce of windows":          func(g *engine.Graph) { discard(engine.ReduceWindow(hour(g), nil)) },
		"a function of whole windows":  func(g *engine.Graph) { discard(engine.ApplyWindow[int, int, int](hour(g), nil)) },
		"the result of an aggregation": func(g *engine.Graph) {
			discard(engine.Aggregate(hour(g), engine.Aggregation[int, int, int]{Add: func(n, _ int) int { return n }}))
		},
		"the addition of one": func(g *engine.Graph) {
			discard(engine.Aggregate(hour(g), engine.Aggregation[int, int, int]{Result: same}))
		},
		"the tag of a side output":      func(g *engine.Graph) { discard(engine.Side[int](six(g), nil)) },
		"the tag of late records":       func(g *engine.Graph) { discard(engine.CountWindow(hour(g).WithLateOutput(nil))) },
		"a tag to send to":              inProcess(func(op *engine.Keyed[int]) { engine.OutputTo[int](op, nil) }),
		"a timer function":              inProcess(func(op *engine.Keyed[int]) { op.Timers(); engine.OnTimer[int](op, nil) }),
		"a reduction":                   inProcess(func(op *engine.Keyed[int]) { engine.ReducingOf[int](op, "r", nil) }),
		"an aggregating state":          inProcess(func(op *engine.Keyed[int]) { engine.AggregatingOf(op, "a", engine.Aggregation[int, int, int]{}) }),
		"a snapshot function":           func(g *engine.Graph) { engine.RegisterSnapshotSource(g, "x", nil, func([]byte) error { return nil }) },
		"a restore function":            func(g *engine.Graph) { engine.RegisterSnapshotSource(g, "x", ok, nil) },
		"a sink":                        func(g *engine.Graph) { engine.ForEach(six(g), nil) },
		"rows":                          func(g *engine.Graph) { engine.ToRows(six(g), nil) },
		"a format":                      func(g *engine.Graph) { engine.ToFile(six(g), "x", nil) },
		"a writer":                      func(g *engine.Graph) { engine.ToWriter(six(g), nil) },
		"an output with transactions":   func(g *engine.Graph) { engine.ToTwoPhase[int, int](six(g), nil) },
		"the stream before a sink":      func(g *engine.Graph) { engine.ToWriter(engine.Union(six(g), engine.Stream[int]{}), io.Discard) },
		"everything but the other sink": func(g *engine.Graph) { engine.ForEach[int](engine.Map[int, int](six(g), nil), nil) },
	} {
		for _, parallelism := range []int{1, 3} {
			g := engine.New(engine.Config{Parallelism: parallelism})
			discard(six(g)) // so that the graph has a sink
			put(g)
			if _, err := g.Build(); !errors.Is(err, engine.ErrNil) && !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s, parallelism %d: %v", name, parallelism, err)
			}
		}
	}
}

// What is put together of zero streams never becomes part of a graph, and is no panic.
func TestZeroStreamsBelongToNoGraph(t *testing.T) {
	var s engine.Stream[int]
	var k engine.KeyedStream[int, int]
	var w engine.WindowedStream[int, int]
	tag := engine.NewSideOutput[int]("tag")
	for name, stream := range map[string]func() engine.Stream[int]{
		"itself":    func() engine.Stream[int] { return s },
		"map":       func() engine.Stream[int] { return engine.Map(s, same) },
		"rebalance": func() engine.Stream[int] { return engine.Rebalance(s) },
		"side":      func() engine.Stream[int] { return engine.Side(s, tag) },
		"union":     func() engine.Stream[int] { return engine.Union(s, s) },
		"time":      func() engine.Stream[int] { return engine.EventTime(s, nil, engine.Ascending()) },
		"uid":       func() engine.Stream[int] { return s.WithUID("u") },
		"keys":      func() engine.Stream[int] { return engine.Max(engine.KeyBy(s, same), same) },
		"reduce":    func() engine.Stream[int] { return engine.Reduce(k.WithUID("u"), func(a, _ int) int { return a }) },
		"keyed map": func() engine.Stream[int] {
			return engine.Sum(engine.MapKeyed(k, func(_, v int) int { return v }), same)
		},
		"window": func() engine.Stream[int] { return results(engine.CountWindow(engine.Window(k, window.Global()))) },
		"windowed": func() engine.Stream[int] {
			return results(engine.CountWindow(w.WithLateness(1).WithLateOutput(tag).WithTrigger(window.OnCount(1))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			discard(stream())
			for _, err := range engine.Collect(t.Context(), stream()) {
				if !errors.Is(err, engine.ErrNil) {
					t.Error(err)
				}
			}
		})
	}
}

func values[K comparable, V any](s engine.Stream[engine.Result[K, V]]) engine.Stream[V] {
	return engine.Map(s, func(r engine.Result[K, V]) V { return r.Value })
}

// Settings that make no sense are reported by Build, and the ends of what makes sense are taken.
func TestSettingsOfAGraph(t *testing.T) {
	for text, c := range map[string]struct {
		cfg engine.Config
		ok  bool
	}{
		"nothing":                        {engine.Config{}, true},
		"one of each":                    {engine.Config{MaxParallelism: 1, Queue: 1, Parallelism: 1}, true},
		"as many subtasks as key groups": {engine.Config{MaxParallelism: 3, Parallelism: 3}, true},
		"more subtasks than key groups":  {engine.Config{MaxParallelism: 3, Parallelism: 4}, false},
		"more subtasks than by default":  {engine.Config{Parallelism: 129}, false},
		"negative parallelism":           {engine.Config{Parallelism: -1}, false},
		"negative key groups":            {engine.Config{MaxParallelism: -1}, false},
		"as many key groups as can be":   {engine.Config{MaxParallelism: 1 << 15}, true},
		"one more":                       {engine.Config{MaxParallelism: 1<<15 + 1}, false},
		"a negative queue":               {engine.Config{Queue: -1}, false},
		"a queue beyond all bounds":      {engine.Config{Queue: 1<<20 + 1}, false},
	} {
		g := engine.New(c.cfg)
		discard(values(engine.CountWindow(engine.Window(sixKeyed(g), window.Global()))))
		p, err := g.Build()
		if (err == nil) != c.ok || err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil {
			if err := p.Run(t.Context()); err != nil || p.Progress().RecordsIn != 6 {
				t.Error(text, err, p.Progress())
			}
		}
	}
	for n, ok := range map[int]bool{-1: false, 0: true, 1: true, 128: true, 129: false} {
		g := engine.New(engine.Config{})
		discard(six(g))
		g.SetParallelism(n)
		if _, err := g.Build(); (err == nil) != ok {
			t.Error(fmt.Sprint("set to ", n), err)
		}
	}
}
