package engine_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/engine"
)

// A job with three subtasks is cut and goes on with two. Names of one's own find the state, although the new graph has one more
// operator, which would have taken the name store-1.
func ExampleGraph_SetParallelism() {
	ctx := context.Background()
	job := func(subtasks int, text string, more bool) *engine.Graph {
		g := engine.New(engine.Config{AllowNonRestored: true}) // the operator that is new has no state in the cut
		g.SetParallelism(subtasks)
		words := engine.From(g, engine.Slice(strings.Fields(text))).WithUID("words")
		if more {
			byLength := engine.KeyBy(words, func(w string) int { return len(w) })
			engine.ForEach(engine.Count(byLength), func(engine.Context, int64) error { return nil })
		}
		byWord := engine.KeyBy(words, func(w string) string { return w }).WithUID("by-word")
		counts := engine.Sum(byWord, func(string) int64 { return 1 }).WithUID("counts")
		engine.ForEach(counts, func(engine.Context, int64) error { return nil })
		return g
	}
	first, err := job(3, "to be or not to be", false).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Run(ctx))
	cut, err := first.Cut(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := cut.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := job(2, "to be or not to be", true).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Restore(ctx, items, engine.Adopt), second.Run(ctx))
	for _, word := range []string{"to", "not", "else"} {
		fmt.Println(engine.Lookup[int64](ctx, second, "counts.sum", word))
	}
	// Output:
	// <nil>
	// <nil> <nil>
	// 2 true <nil>
	// 1 true <nil>
	// 0 false <nil>
}
