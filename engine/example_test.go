package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// Words are counted as they come: one output per input.
func Example() {
	g := engine.New(engine.Config{})
	words := engine.FlatMap(engine.From(g, engine.Slice([]string{"to be", "or not to be"})), func(line string, emit func(string)) {
		for w := range strings.FieldsSeq(line) {
			emit(w)
		}
	})
	counts := engine.Process(engine.KeyBy(words, strings.ToLower), func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
		count := engine.ValueOf[int](op, "count")
		return func(_ engine.Context, word, _ string, emit func(string)) error {
			n := count.Get() + 1
			count.Put(n)
			emit(fmt.Sprint(word, ":", n))
			return nil
		}
	})
	engine.ForEach(counts, func(_ engine.Context, s string) error {
		_, err := fmt.Print(s, " ")
		return err
	})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()))
	// Output: to:1 be:1 or:1 not:1 to:2 be:2 <nil>
}

type trip struct {
	Taxi string
	At   int64 // milliseconds
	Fare int64
}

// Fares per taxi and minute, although trips come in out of order.
func ExampleAggregate() {
	trips := []trip{{"a", 10_000, 5}, {"b", 20_000, 7}, {"a", 65_000, 2}, {"a", 50_000, 4}, {"b", 130_000, 1}, {"a", 1_000, 9}}
	g := engine.New(engine.Config{})
	timed := engine.EventTime(engine.From(g, engine.Slice(trips)), func(t trip) int64 { return t.At }, engine.Bounded(20*time.Second))
	perMinute := engine.Window(engine.KeyBy(timed, func(t trip) string { return t.Taxi }), window.Tumbling(time.Minute))
	fares := engine.Aggregate(perMinute, engine.Aggregation[trip, int64, int64]{
		Add:    func(sum int64, t trip) int64 { return sum + t.Fare },
		Result: func(sum int64) int64 { return sum },
	})
	engine.ForEach(fares, func(_ engine.Context, r engine.Result[string, int64]) error {
		_, err := fmt.Println(r.Key, r.Window, r.Value)
		return err
	})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()), "late:", p.Progress().LateDropped)
	// Output:
	// a [0-60000] 9
	// b [0-60000] 7
	// a [60000-120000] 2
	// b [120000-180000] 1
	// <nil> late: 1
}

// Visits of a page: each ends after 30 s of silence. A late record joins two of them, and one that is too late is read
// from the side output.
func ExampleWindowedStream_WithLateness() {
	clicks := []trip{{"ann", 0, 1}, {"ann", 50_000, 1}, {"ann", 90_000, 1}, {"ann", 25_000, 1}, {"ann", 500_000, 1}, {"ann", 1_000, 1}}
	g := engine.New(engine.Config{})
	timed := engine.EventTime(engine.From(g, engine.Slice(clicks)), func(t trip) int64 { return t.At }, engine.Ascending())
	late := engine.NewSideOutput[trip]("late")
	visits := engine.CountWindow(
		engine.Window(engine.KeyBy(timed, func(t trip) string { return t.Taxi }), window.Session(30*time.Second)).
			WithLateness(2 * time.Minute).WithLateOutput(late))
	engine.ForEach(visits, func(_ engine.Context, r engine.Result[string, int64]) error {
		_, err := fmt.Println(r.Key, r.Window, r.Value)
		return err
	})
	engine.ForEach(engine.Side(visits, late), func(_ engine.Context, t trip) error {
		_, err := fmt.Println("too late:", t.At)
		return err
	})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()))
	// Output:
	// ann [0-30000] 1
	// ann [50000-80000] 1
	// ann [0-80000] 3
	// ann [90000-120000] 1
	// too late: 1000
	// ann [500000-530000] 1
	// <nil>
}

// The last two fares of each taxi; fares that are negative go to a side output, and both come together again as text.
func ExampleUnion() {
	trips := []trip{{"a", 1, 5}, {"b", 2, 7}, {"a", 3, -1}, {"a", 4, 6}, {"a", 5, 8}}
	g := engine.New(engine.Config{})
	odd := engine.NewSideOutput[trip]("odd fares")
	byTaxi := engine.KeyBy(engine.From(g, engine.Slice(trips)), func(t trip) string { return t.Taxi })
	fares := engine.Process(byTaxi, func(op *engine.Keyed[string]) engine.ProcessFunc[string, trip, string] {
		last, toOdd := engine.ListOf[int64](op, "last"), engine.OutputTo(op, odd)
		return func(_ engine.Context, taxi string, t trip, emit func(string)) error {
			if t.Fare < 0 {
				toOdd(t)
				return nil
			}
			last.Add(t.Fare)
			if all := last.Get(); len(all) > 2 {
				last.Update(all[1:])
			}
			emit(fmt.Sprint(taxi, last.Get()))
			return nil
		}
	})
	odds := engine.Map(engine.Side(fares, odd), func(t trip) string { return fmt.Sprint("odd: ", t.Fare) })
	engine.ForEach(engine.Union(fares, odds), func(_ engine.Context, s string) error {
		_, err := fmt.Println(s)
		return err
	})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()))
	// Output:
	// a[5]
	// b[7]
	// odd: -1
	// a[5 6]
	// a[6 8]
	// <nil>
}

// A run dies in the middle; a second one adopts its last cut, and the file has each row once.
func ExamplePipeline_Restore() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // An example.
	path := filepath.Join(dir, "sums.txt")
	// job adds up numbers. before sees each one first.
	job := func(before func(c engine.Context, v int) error) (*engine.Pipeline, error) {
		g := engine.New(engine.Config{})
		numbers := engine.TryMap(engine.From(g, engine.Slice([]int{1, 2, 3, 4})), func(c engine.Context, v int) (int, error) {
			return v, before(c, v)
		})
		sums := engine.Reduce(engine.KeyBy(numbers, func(int) string { return "all" }), func(a, b int) int { return a + b })
		engine.ToFile(sums, path, func(dst []byte, v int) ([]byte, error) { return fmt.Append(dst, v), nil })
		return g.Build()
	}
	ctx := context.Background()
	cut := make(map[string][]byte)
	var first *engine.Pipeline
	first, err = job(func(c engine.Context, v int) error {
		if v != 3 {
			return nil
		}
		s, err := first.Cut(c, 1) // through the record's context: before anything of record 3
		if err != nil {
			return err
		}
		for _, i := range s.Items {
			if cut[i.Name], err = i.Encode(); err != nil {
				return err
			}
		}
		return errors.New("power cut")
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Run(ctx))
	second, err := job(func(engine.Context, int) error { return nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Restore(ctx, cut, engine.Adopt), second.Run(ctx), second.Finish(ctx))
	rows, err := os.ReadFile(path)
	fmt.Println(strings.Fields(string(rows)), err)
	// Output:
	// map-1: map function failed at record 3 of source-1 (offset 2): power cut
	// <nil> <nil> <nil>
	// [1 3 6 10] <nil>
}
