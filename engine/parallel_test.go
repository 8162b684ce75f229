package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// numbered is a record of a parallel job.
type numbered struct {
	Key int
	N   int64
}

// parallelGraph counts per key, keys the counts again, and sums them in windows, one after the other and of slices: two exchanges.
func parallelGraph(n, parallelism int, rows *engine.Rows[string], touch func(engine.Context, numbered) error) *engine.Graph {
	g := engine.New(engine.Config{Parallelism: parallelism, Queue: 32})
	in := make([]int64, n)
	for i := range in {
		in[i] = int64(i)
	}
	timed := engine.EventTime(engine.From(g, engine.Slice(in)), func(i int64) int64 { return i }, engine.Ascending())
	counts := engine.Process(engine.KeyBy(timed, func(i int64) int { return int(i*i) % 101 }),
		func(op *engine.Keyed[int]) engine.ProcessFunc[int, int64, numbered] {
			count := engine.ValueOf[int64](op, "count")
			return func(c engine.Context, k int, i int64, emit func(numbered)) error {
				count.Put(count.Get() + 1)
				emit(numbered{k, count.Get()})
				return touch(c, numbered{k, i})
			}
		})
	byRest := engine.KeyBy(counts, func(r numbered) int { return r.Key % 7 })
	sums := func(a window.Assigner) engine.Stream[string] {
		return engine.Map(engine.Aggregate(engine.Window(byRest, a), engine.Aggregation[numbered, int64, int64]{
			Add:    func(acc int64, r numbered) int64 { return acc + r.N },
			Merge:  func(a, b int64) int64 { return a + b },
			Result: func(acc int64) int64 { return acc },
		}), func(r engine.Result[int, int64]) string { return fmt.Sprint(r.Key, " ", r.Window, " ", r.Value) })
	}
	engine.ToRows(engine.Union(sums(window.Tumbling(100*ms)), sums(window.Sliding(240*ms, 80*ms))), rows)
	return g
}

func untouched(engine.Context, numbered) error { return nil }

func TestEveryParallelismGivesTheSameRows(t *testing.T) {
	var want engine.Rows[string]
	if err := build(t, parallelGraph(20_000, 1, &want, untouched)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want.Len() < 1000 {
		t.Fatal("only", want.Len(), "rows")
	}
	for _, n := range []int{2, 3, 4, 7} {
		var got engine.Rows[string]
		if err := build(t, parallelGraph(20_000, n, &got, untouched)).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(sorted(want.All()), sorted(got.All())); d != "" {
			t.Errorf("parallelism %d: %s", n, d)
		}
	}
}

// A run is killed inside a record, and goes on with another number of subtasks from the newest cut, again and again.
func TestARunGoesOnAtAnotherParallelism(t *testing.T) {
	const n = 5000
	var want, got engine.Rows[string]
	if err := build(t, parallelGraph(n, 1, &want, untouched)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var newest map[string][]byte
	for attempt, parallelism := range []int{3, 3, 1, 4, 2, 5, 1, 2} {
		last := attempt == 7
		g := parallelGraph(n, parallelism, &got, func(_ engine.Context, r numbered) error {
			if !last && r.N == int64(600*(attempt+1)) {
				return errBoom
			}
			return nil
		})
		p := build(t, g)
		if newest != nil {
			if err := p.Restore(t.Context(), newest, engine.Adopt); err != nil {
				t.Fatal(err)
			}
		} else {
			newest = encode(t, mustCut(t, p, 0))
		}
		ended := make(chan error, 1)
		go func() { ended <- p.Run(t.Context()) }()
		var err error
		for id := int64(0); ; id++ {
			s, cutErr := p.Cut(t.Context(), id)
			if cutErr == nil {
				newest = encode(t, s)
			} else if !errors.Is(cutErr, engine.ErrFailed) {
				t.Fatal(cutErr)
			}
			select {
			case err = <-ended:
			default:
				continue
			}
			break
		}
		if last != (err == nil) || err != nil && !errors.Is(err, errBoom) {
			t.Fatal(attempt, err)
		}
	}
	if d := gocmp.Diff(sorted(want.All()), sorted(got.All())); d != "" {
		t.Error(d)
	}
}

func TestACutInsideARecordBesideOthersIsRefused(t *testing.T) {
	var rows engine.Rows[string]
	var p *engine.Pipeline
	var got error
	p = build(t, parallelGraph(100, 2, &rows, func(c engine.Context, r numbered) error {
		if r.N == 50 {
			_, got = p.Cut(c, 1)
		}
		return nil
	}))
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(got, engine.ErrInRecord) {
		t.Error(got)
	}
}
