package engine

import "fmt"

// FromSplits reads one logical source that comes in several parts, such as the files of a folder or the shards of a topic. Each
// part has its own position ("source-N") and, as [EventTime] would give it, its own timestamps and watermark ("watermark-N"),
// since records are in order within a part at best. The stream's watermark is the lowest of the parts that are neither idle
// ([Strategy.WithIdleness]) nor at their end. With several subtasks the parts are dealt out to them in turn. The number of
// parts and their order must be the same when a cut is restored; no parts at all are reported by Build.
func FromSplits[T any](g *Graph, splits []Source[T], ts func(T) int64, strategy Strategy) Stream[T] {
	if len(splits) == 0 {
		g.fail("splits", fmt.Errorf("no sources: %w", ErrInvalid))
		return From(g, Slice[T](nil))
	}
	var streams []Stream[T]
	for _, split := range splits {
		streams = append(streams, EventTime(From(g, split), ts, strategy))
	}
	return Union(streams[0], streams[1:]...)
}
