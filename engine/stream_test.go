package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

func TestStreamOperators(t *testing.T) {
	even := func(v int) bool { return v%2 == 0 }
	for _, c := range []struct {
		name string
		make func(s engine.Stream[int]) engine.Stream[int]
		in   []int
		want []int
	}{
		{"map doubles", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Map(s, func(v int) int { return 2 * v })
		}, []int{1, 2, 3}, []int{2, 4, 6}},
		{"filter keeps even numbers", func(s engine.Stream[int]) engine.Stream[int] { return engine.Filter(s, even) }, []int{1, 2, 3, 4, 5}, []int{2, 4}},
		{"filter then map", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Map(engine.Filter(s, func(v int) bool { return v > 2 }), func(v int) int { return 10 * v })
		}, []int{1, 2, 3, 4, 5}, []int{30, 40, 50}},
		{"filter that drops all", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Filter(s, func(int) bool { return false })
		}, []int{1}, nil},
		{"reduce emits one result per record", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Reduce(engine.KeyBy(s, even), func(a, b int) int { return a + b })
		}, []int{1, 2, 3, 4, 5, 6}, []int{1, 2, 4, 6, 9, 12}},
		{"reduce of one element is that element", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Reduce(engine.KeyBy(s, even), func(int, int) int { panic("called") })
		}, []int{5}, []int{5}},
		{"sum per key", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Sum(engine.KeyBy(s, func(v int) bool { return v == 15 }), func(v int) int { return v })
		}, []int{10, 20, 15, 30}, []int{10, 30, 15, 60}},
		{"no elements", func(s engine.Stream[int]) engine.Stream[int] {
			return engine.Sum(engine.KeyBy(s, even), func(v int) int { return v })
		}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := collect(t, func(g *engine.Graph) engine.Stream[int] { return c.make(engine.From(g, engine.Slice(c.in))) })
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFlatMapFilterMap(t *testing.T) {
	got := collect(t, func(g *engine.Graph) engine.Stream[string] {
		words := engine.FlatMap(engine.From(g, engine.Slice([]string{"a b", "c", "d e"})), func(line string, emit func(string)) {
			for w := range strings.SplitSeq(line, " ") {
				emit(w)
			}
		})
		return engine.Map(engine.Filter(words, func(w string) bool { return w != "c" }), strings.ToUpper)
	})
	if d := cmp.Diff([]string{"A", "B", "D", "E"}, got); d != "" {
		t.Error(d)
	}
}

func TestSliceIsCopiedWhenTheGraphIsBuilt(t *testing.T) {
	in := []int{1, 2, 3}
	g := engine.New(engine.Config{})
	var rows engine.Rows[int]
	engine.ToRows(engine.From(g, engine.Slice(in)), &rows)
	in[0] = 99
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{1, 2, 3}, rows.All()); d != "" {
		t.Error(d)
	}
}

// Records of a source without timestamps get rising ones; the rest of the tests of sources use sourceFunc too.
func TestTimestamps(t *testing.T) {
	stamps := func(src engine.Source[int]) []string {
		return collect(t, func(g *engine.Graph) engine.Stream[string] {
			return engine.TryMap(engine.From(g, src), func(c engine.Context, v int) (string, error) {
				return fmt.Sprint(v, "@", c.Timestamp()), nil
			})
		})
	}
	if d := cmp.Diff([]string{"7@0", "8@1", "9@2"}, stamps(engine.Slice([]int{7, 8, 9}))); d != "" {
		t.Error(d)
	}
	got := stamps(sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
		return errors.Join(c.Collect(1), c.CollectAt(2, 123), c.Collect(3))
	}))
	if d := cmp.Diff([]string{"1@0", "2@123", "3@2"}, got); d != "" {
		t.Error(d)
	}
}

type sourceFunc[T any] func(ctx context.Context, c *engine.Collector[T]) error

func (f sourceFunc[T]) Run(ctx context.Context, c *engine.Collector[T]) error { return f(ctx, c) }
func (f sourceFunc[T]) Seekable() bool                                        { return false }

var errBoom = errors.New("boom")

func TestErrorsNameOperatorAndRecord(t *testing.T) {
	ints := func(g *engine.Graph) engine.Stream[int] { return engine.From(g, engine.Slice([]int{1, 2, 3})) }
	keyed := func(g *engine.Graph) engine.KeyedStream[int, int] {
		return engine.KeyBy(ints(g), func(int) int { return 0 })
	}
	for _, c := range []struct {
		name, want string
		stream     func(g *engine.Graph) engine.Stream[int]
	}{
		{"a failing map", "map-1: map function failed at record 2 of source-1 (offset 1): boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.TryMap(ints(g), func(_ engine.Context, v int) (int, error) {
				if v == 2 {
					return 0, errBoom
				}
				return v, nil
			})
		}},
		{"a panicking filter behind a map", "filter-1: filter function failed at record 3 of source-1 (offset 2): panic: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.Filter(engine.Map(ints(g), func(v int) int { return v }), func(v int) bool {
				if v == 3 {
					panic(errBoom)
				}
				return true
			})
		}},
		{"a flat-map that panics after it has emitted", "flat-map-1: flat-map function failed at record 1 of source-1 (offset 0): panic: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.Map(engine.FlatMap(ints(g), func(v int, emit func(int)) {
				emit(v)
				panic(errBoom)
			}), func(v int) int { return v })
		}},
		{"a failing reduce", "reduce-1: reduce function failed at record 2 of source-1 (offset 1): panic: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.Reduce(keyed(g), func(int, int) int { panic(errBoom) })
		}},
		{"a failing process function", "process-1: keyed process function failed at record 1 of source-1 (offset 0): boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.Process(keyed(g), func(*engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
				return func(engine.Context, int, int, func(int)) error { return errBoom }
			})
		}},
		{"a failing window function", "window-1: window function failed at the end of source-1: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.ApplyWindow(engine.Window(keyed(g), window.Tumbling(time.Hour)), func(engine.Context, int, window.Window, []int, func(int)) error { return errBoom })
		}},
		{"a failing source", "source-1: source execution failed at record 2 of source-1 (offset 1): boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.From(g, engine.Seq2(func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, errBoom) }))
		}},
		{"a panicking source", "source-1: source execution failed at record 1 of source-1 (offset 0): panic: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.From(g, engine.Seq(func(func(int) bool) { panic(errBoom) }))
		}},
		{"a panicking key function", "key-by-1: key function failed at record 1 of source-1 (offset 0): panic: boom", func(g *engine.Graph) engine.Stream[int] {
			return engine.Sum(engine.KeyBy(ints(g), func(int) int { panic(errBoom) }), func(v int) int { return v })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tryCollect(t.Context(), t, c.stream)
			if err == nil || placeless(err) != c.want || !errors.Is(err, errBoom) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if oe := new(engine.OperatorError); !errors.As(err, &oe) {
				t.Error("no OperatorError")
			}
		})
	}
}

func TestRecordsBeforeASourceErrorAreDelivered(t *testing.T) {
	rows, err := tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[int] {
		return engine.From(g, engine.Seq2(func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, errBoom) }))
	})
	if !errors.Is(err, errBoom) || !slices.Equal(rows, []int{1}) {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

// A sink error ends the source: its context ends, Collect fails, and Run waits for it.
func TestSinkErrorStopsTheSource(t *testing.T) {
	var stopped, ctxEnded bool
	g := engine.New(engine.Config{Queue: 2})
	engine.ForEach(engine.From(g, sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
		var err error
		for err == nil {
			err = c.Collect(1)
		}
		stopped, ctxEnded = errors.Is(err, engine.ErrStopped), ctx.Err() != nil
		return err
	})), func(engine.Context, int) error { return errBoom })
	err := build(t, g).Run(t.Context())
	if want := "sink-1: sink invocation failed at record 1 of source-1 (offset 0): boom"; err == nil || err.Error() != want {
		t.Error(err)
	}
	if !stopped || !ctxEnded {
		t.Error("source was not stopped", stopped, ctxEnded)
	}
}

func TestBackPressureBoundsTheHandOff(t *testing.T) {
	const n, queue = 100_000, 64
	ahead, made, seen := 0, make(chan int, 1), 0
	made <- 0
	g := engine.New(engine.Config{Queue: queue})
	src := func(yield func(int) bool) {
		for i := range n {
			<-made
			made <- i + 1
			if !yield(i) {
				return
			}
		}
	}
	engine.ForEach(engine.From(g, engine.Seq(src)), func(_ engine.Context, v int) error {
		if v != seen {
			return fmt.Errorf("got %d, want %d", v, seen)
		}
		seen++
		m := <-made
		made <- m
		ahead = max(ahead, m-seen)
		return nil
	})
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Space is given back in runs of records, so at most the queue and the one in the source's hand are ahead.
	if seen != n || ahead > queue+1+256 {
		t.Errorf("%d records seen, source up to %d ahead", seen, ahead)
	}
}

func TestNothingRunsWithoutASink(t *testing.T) {
	g := engine.New(engine.Config{})
	s := engine.From(g, engine.Slice([]int{1}))
	engine.Map(s, func(int) int { panic("not to be called") })
	engine.CountWindow(engine.Window(engine.KeyBy(s, func(int) int { panic("not to be called") }), window.Tumbling(time.Second)))
	var rows engine.Rows[int]
	engine.ToRows(s, &rows)
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil || rows.Len() != 1 {
		t.Fatal(err, rows.Len())
	}
	if _, ok := encode(t, mustCut(t, p, 1))["window-1"]; ok {
		t.Error("a window that nobody consumes is in the cut")
	}
}

func TestTwoSinksShareOneExecution(t *testing.T) {
	calls := 0
	g := engine.New(engine.Config{})
	s := engine.Map(engine.From(g, engine.Slice([]int{1, 2, 3})), func(v int) int { calls++; return v })
	var a, b engine.Rows[int]
	engine.ToRows(s, &a)
	engine.ToRows(engine.Map(s, func(v int) int { return -v }), &b)
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls != 3 || !slices.Equal(a.All(), []int{1, 2, 3}) || !slices.Equal(b.All(), []int{-1, -2, -3}) {
		t.Error(calls, a.All(), b.All())
	}
}

func TestMistakesAreReportedWhenTheGraphIsBuilt(t *testing.T) {
	ints := func(g *engine.Graph) engine.Stream[int] { return engine.From(g, engine.Slice([]int{1})) }
	keyed := func(g *engine.Graph) engine.KeyedStream[int, int] {
		return engine.KeyBy(ints(g), func(v int) int { return v })
	}
	for name, stream := range map[string]func(g *engine.Graph) engine.Stream[int]{
		"source":   func(g *engine.Graph) engine.Stream[int] { return engine.From[int](g, nil) },
		"sequence": func(g *engine.Graph) engine.Stream[int] { return engine.From(g, engine.Seq[int](nil)) },
		"map":      func(g *engine.Graph) engine.Stream[int] { return engine.Map[int, int](ints(g), nil) },
		"try map":  func(g *engine.Graph) engine.Stream[int] { return engine.TryMap[int, int](ints(g), nil) },
		"filter":   func(g *engine.Graph) engine.Stream[int] { return engine.Filter(ints(g), nil) },
		"flat-map": func(g *engine.Graph) engine.Stream[int] { return engine.FlatMap[int, int](ints(g), nil) },
		"key": func(g *engine.Graph) engine.Stream[int] {
			return engine.Reduce(engine.KeyBy[int](ints(g), nil), func(a, _ int) int { return a })
		},
		"reduce":  func(g *engine.Graph) engine.Stream[int] { return engine.Reduce(keyed(g), nil) },
		"process": func(g *engine.Graph) engine.Stream[int] { return engine.Process[int, int, int](keyed(g), nil) },
		"key type": func(g *engine.Graph) engine.Stream[int] {
			return engine.Reduce(engine.KeyBy(ints(g), func(int) any { return 1 }), func(a, _ int) int { return a })
		},
		"window size": func(g *engine.Graph) engine.Stream[int] {
			return results(engine.CountWindow(engine.Window(keyed(g), window.Tumbling(0))))
		},
		"assigner": func(g *engine.Graph) engine.Stream[int] {
			return results(engine.CountWindow(engine.Window(keyed(g), nil)))
		},
		"lateness": func(g *engine.Graph) engine.Stream[int] {
			return engine.EventTime(ints(g), nil, engine.Bounded(-time.Second))
		},
		"process function": func(g *engine.Graph) engine.Stream[int] {
			return engine.Process(keyed(g), func(*engine.Keyed[int]) engine.ProcessFunc[int, int, int] { return nil })
		},
		"a state name twice": func(g *engine.Graph) engine.Stream[int] {
			return engine.Process(keyed(g), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
				engine.ValueOf[int](op, "n")
				engine.ValueOf[int](op, "n")
				return func(engine.Context, int, int, func(int)) error { return nil }
			})
		},
	} {
		g := engine.New(engine.Config{})
		var rows engine.Rows[int]
		engine.ToRows(stream(g), &rows)
		if _, err := g.Build(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	g := engine.New(engine.Config{MaxParallelism: -1, Queue: 3})
	engine.ForEach[int](ints(g), nil)
	if _, err := g.Build(); !errors.Is(err, engine.ErrNil) || !errors.Is(err, engine.ErrInvalid) {
		t.Error("config and sink:", err)
	}
	if _, err := engine.New(engine.Config{}).Build(); err == nil {
		t.Error("a graph without a sink was built")
	}
}

func results[K comparable](s engine.Stream[engine.Result[K, int64]]) engine.Stream[int] {
	return engine.Map(s, func(r engine.Result[K, int64]) int { return int(r.Value) })
}

func TestCancelEndsTheRunWithItsCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	g := engine.New(engine.Config{})
	engine.ForEach(engine.From(g, sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
		if err := c.Collect(1); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})), func(engine.Context, int) error { cancel(errBoom); return nil })
	p := build(t, g)
	if err := p.Run(ctx); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	if err := p.Run(t.Context()); !errors.Is(err, engine.ErrStarted) {
		t.Error("second run:", err)
	}
}
