package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// ErrNoLog is returned by [Reader.Read] and [Term.Append] when the job has no log: it was never written to, or the stream
// was deleted. A range that is only empty is not an error.
var ErrNoLog = errors.New("no such log")

// Log is the event log of one job.
type Log interface {
	Publisher
	Reader
	Leader
}

// Publisher appends events without a token: requests, registrations, acks, declines.
type Publisher interface {
	// Publish appends the envelopes in order. An outcome that is not known, or an error that can pass (no connection, a
	// failover, a server that loads its data), is repeated under the same event id until ctx ends: at least once. A nil error
	// means that all are in the log. An error that cannot pass (an invalid envelope, a refused password, a key of another type)
	// is returned at once; the envelopes before the faulty one are then in the log.
	Publish(ctx context.Context, envs ...events.Envelope) error
}

// Reader reads the log in order.
type Reader interface {
	// Read yields all entries from from to to, both included, in bounded batches; [events.Start] and [events.End] stand for the
	// two ends. A range without entries yields nothing; a missing stream yields [ErrNoLog]. After an error the sequence ends, and
	// the caller may read on behind the last entry. When ctx ends before the range does, its cause is yielded.
	Read(ctx context.Context, from, to events.Position) iter.Seq2[Batch, error]

	// Follow yields all entries behind after, and then what is appended, until ctx ends; then it stops without an error. When
	// nothing came within MaxWait, it yields an empty batch that is AtEnd. The first answer, and the one behind a full batch, do
	// not wait: the receiver learns at once that it has caught up.
	//
	// A missing stream is one that is still to come. After is the anchor: unless it is [events.Start], the entry at this position
	// must be there, else a batch with a [Gap] comes, and then everything from the start of what is there. While it
	// runs, the last delivered entry is the anchor of each further read.
	//
	// It reconnects by itself, for as long as it takes, and yields nothing meanwhile. Only what no waiting repairs is an
	// error: a refused password or command, a key of another type.
	Follow(ctx context.Context, after events.Position, opts FollowOptions) iter.Seq2[Batch, error]

	// Last is the highest position that the stream ever gave; ok is false when there is no stream.
	Last(ctx context.Context) (at events.Position, ok bool, err error)
}

// FollowOptions tune one Follow; the zero value works.
type FollowOptions struct {
	// MaxWait is asked before each read how long it may wait for the next entry; the answer is brought into MinWait to
	// MaxWait. Nil means DefaultWait. A coordinator gives the time to its next deadline.
	MaxWait func() time.Duration
	// OnRetry is told each error after which Follow connects again, and how long it waits before. It must not block. Nil
	// means that nobody wants to know.
	OnRetry func(err error, wait time.Duration)
}

// Bounds of the wait of one read.
const (
	MinWait     = 10 * time.Millisecond // below 1 ms, Redis clients have read "for ever"
	DefaultWait = time.Second
	MaxWait     = 2 * time.Second
)

// Wait is the time that the next read may wait, within the bounds.
func (o FollowOptions) Wait() time.Duration {
	if o.MaxWait == nil {
		return DefaultWait
	}
	return min(max(o.MaxWait(), MinWait), MaxWait)
}

// Retry tells OnRetry, if there is one.
func (o FollowOptions) Retry(err error, wait time.Duration) {
	if o.OnRetry != nil {
		o.OnRetry(err, wait)
	}
}
