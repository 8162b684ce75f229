package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// Test data without a file: record i is a function of i, so a run that continues from a cut makes the same ones.
func ExampleGenerate() {
	g := engine.New(engine.Config{})
	squares := engine.From(g, engine.Generate(5, func(i int64) int64 { return i * i }))
	engine.ToWriter(squares, os.Stdout)
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()))
	// Output:
	// 0
	// 1
	// 4
	// 9
	// 16
	// <nil>
}

// Two shards of one topic, each in order, one a minute behind the other: a minute is counted when both have passed it.
func ExampleFromSplits() {
	second := int64(time.Second / time.Millisecond)
	ahead := engine.Slice([]int64{70 * second, 100 * second, 130 * second})
	behind := engine.Slice([]int64{10 * second, 40 * second, 70 * second})
	g := engine.New(engine.Config{})
	topic := engine.FromSplits(g, []engine.Source[int64]{ahead, behind}, func(at int64) int64 { return at }, engine.Ascending())
	minutes := engine.Window(engine.KeyBy(topic, func(int64) string { return "events" }), window.Tumbling(time.Minute))
	for r, err := range engine.Collect(context.Background(), engine.CountWindow(minutes)) {
		fmt.Println(r.Key, r.Window, r.Value, err)
	}
	// Output:
	// events [0-60000] 2 <nil>
	// events [60000-120000] 3 <nil>
	// events [120000-180000] 1 <nil>
}

// A stream is read by a loop, which may leave it: that ends the run, although its source has no end. An error comes last.
func ExampleCollect() {
	g := engine.New(engine.Config{})
	numbers := engine.From(g, engine.Generate(engine.Endless, func(i int64) int64 { return i }))
	sums := engine.Sum(engine.KeyBy(numbers, func(n int64) bool { return n%2 == 0 }), func(n int64) int64 { return n })
	for sum, err := range engine.Collect(context.Background(), sums) {
		if err != nil || sum > 10 {
			fmt.Println("left at", sum, err)
			break
		}
		fmt.Print(sum, " ")
	}
	inverse := engine.TryMap(numbers, func(_ engine.Context, n int64) (int64, error) {
		if n == 2 {
			return 0, errors.New("two has no inverse")
		}
		return 6 / (2 - n), nil
	})
	for v, err := range engine.Collect(context.Background(), inverse) {
		fmt.Println(v, err)
	}
	// Output:
	// 0 1 2 4 6 9 left at 12 <nil>
	// 3 <nil>
	// 6 <nil>
	// 0 map-1: map function failed at record 3 of source-1 (offset 2): two has no inverse
}
