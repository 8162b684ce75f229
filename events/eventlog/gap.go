package eventlog

import "github.com/tidemark-stream/tidemark/events"

// StreamState is what a server says about a stream; it tells how an anchor got lost.
type StreamState struct {
	// Exists is false when there is no stream under the key.
	Exists bool
	// First is the position of the first entry; zero if there is none.
	First events.Position
	// Last is the highest position that the stream ever gave.
	Last events.Position
	// Removed is how many entries the stream once had and has no more; -1 when the server does not count (before Redis 7).
	Removed int64
}

// Gap explains why the entry at after, which was there once, is there no more. Where the server does not count removed entries, a
// stream that was deleted and has begun anew looks like a trimmed one.
func (s StreamState) Gap(after events.Position) *Gap {
	g := &Gap{After: after, Before: s.First}
	switch {
	case !s.Exists:
		g.Cause = events.GapDeleted
	case s.Last.Before(after):
		g.Cause = events.GapFailover // the end of the stream went back
	case !s.First.IsZero() && s.First.Before(after):
		g.Cause = events.GapFailover // it went back, and has grown past the anchor again
	case s.Removed == 0:
		g.Cause = events.GapDeleted // nothing was ever taken out of this stream: it is another one
	default:
		g.Cause = events.GapTrimmed
	}
	return g
}
