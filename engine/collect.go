package engine

import (
	"context"
	"iter"
)

// Collect gives the records of s as a sequence. Each loop over it builds what leads to s, and nothing else of its graph, and runs
// it: no function of the user's is called before. An error of the graph or the run comes last, after the records before it.
// A slow loop holds the sources up; leaving it ends the run, with all its goroutines. Where cuts are wanted, or sinks beside
// it, use [ToFeed].
func Collect[T any](ctx context.Context, s Stream[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		g := *s.graph()
		feed := newFeed[T](g.cfg.Queue)
		feed.uncut = true
		g.sinks, g.extra = []sinkNode{{s.origin().at, feed.connect(s)}}, nil
		p, err := g.Build()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		feed.Run(ctx, p)(yield)
	}
}
