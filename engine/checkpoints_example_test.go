package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/engine"
)

// A program that keeps checkpoints in memory. Here the job itself takes one at record 3 and goes back to it at record 5.
func ExampleCheckpoints() {
	var checkpoints *engine.Checkpoints
	g := engine.New(engine.Config{})
	byKey := engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2, 3, 4, 5, 6})), func(int) string { return "all" })
	sums := engine.Process(byKey, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
		sum := engine.ValueOf[int](op, "sum")
		return func(c engine.Context, _ string, v int, emit func(int)) error {
			sum.Put(sum.Get() + v)
			emit(sum.Get())
			var err error
			switch v {
			case 3:
				_, err = checkpoints.Trigger(c)
			case 5:
				err = checkpoints.Restore(c, 1)
			}
			return err
		}
	})
	var rows engine.Rows[int]
	engine.ToRows(sums, &rows)
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	checkpoints = p.EnableCheckpoints(3)
	fmt.Println(p.Run(context.Background()))
	fmt.Println(rows.All(), checkpoints.IDs())
	// Output:
	// <nil>
	// [1 3 6 10 15 12] [1]
}

// What a job knows, read from outside. While it runs this works in the same way.
func ExampleScan() {
	ctx := context.Background()
	g := engine.New(engine.Config{})
	words := engine.From(g, engine.Slice([]string{"to", "be", "or", "not", "to", "be"}))
	byWord := engine.KeyBy(words, func(word string) string { return word })
	counts := engine.Sum(byWord, func(string) int64 { return 1 }).WithUID("counts")
	engine.ForEach(counts, func(engine.Context, int64) error { return nil })
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(ctx))
	fmt.Println(p.States(ctx))
	fmt.Println(engine.Lookup[int64](ctx, p, "counts.sum", "to"))
	all, err := engine.Scan[string, int64](ctx, p, "counts.sum")
	for _, word := range slices.Sorted(maps.Keys(maps.Collect(all))) {
		fmt.Print(word, " ")
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// [{counts.sum string int64 4}] <nil>
	// 2 true <nil>
	// be not or to <nil>
}
