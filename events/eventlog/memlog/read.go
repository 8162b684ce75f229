package memlog

import (
	"context"
	"iter"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// pageSize is how many entries a batch holds at most.
const pageSize = 512

// Read implements [eventlog.Reader].
func (l *Log) Read(ctx context.Context, from, to events.Position) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		for {
			batch, err := l.readPage(ctx, from, to)
			if err != nil {
				yield(eventlog.Batch{}, err)
				return
			}
			if len(batch.Entries) == 0 || !yield(batch, nil) || batch.AtEnd {
				return
			}
			from = batch.Entries[len(batch.Entries)-1].Position.Next()
		}
	}
}

func (l *Log) readPage(ctx context.Context, from, to events.Position) (eventlog.Batch, error) {
	sampled := time.Now()
	var page []stored
	err := l.do(ctx, OpRead, func() error {
		if l.stream == nil {
			return eventlog.ErrNoLog
		}
		page = l.stream.page(from, to, pageSize)
		return nil
	})
	if err != nil {
		return eventlog.Batch{}, err
	}
	return newBatch(page, sampled), nil
}

// newBatch decodes outside the lock: pages are never written to again.
func newBatch(page []stored, sampled time.Time) eventlog.Batch {
	b := eventlog.Batch{Sampled: sampled, AtEnd: len(page) < pageSize}
	if len(page) > 0 {
		b.Entries = make([]eventlog.Entry, len(page))
	}
	for i := range page {
		b.Entries[i] = page[i].decode()
	}
	return b
}

// cursor is how far a follower has come.
type cursor struct {
	at       events.Position
	anchored bool
	fresh    bool // the next answer must not wait
}

// Follow implements [eventlog.Reader].
func (l *Log) Follow(ctx context.Context, after events.Position, opts eventlog.FollowOptions) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		c := cursor{after, !after.IsZero(), true}
		for ctx.Err() == nil {
			batch, err := l.next(ctx, &c, opts)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				opts.Retry(err, retryWait)
				if pause(ctx, retryWait) != nil {
					return
				}
			case !yield(batch, nil):
				return
			}
		}
	}
}

// next waits for what is behind the cursor, and moves it.
func (l *Log) next(ctx context.Context, c *cursor, opts eventlog.FollowOptions) (eventlog.Batch, error) {
	limit := time.NewTimer(opts.Wait())
	defer limit.Stop()
	for {
		sampled := time.Now()
		var (
			page    []stored
			gap     *eventlog.Gap
			changed chan struct{}
		)
		err := l.do(ctx, OpFollow, func() error {
			changed = l.logChanged.c
			page, gap = l.behind(*c)
			return nil
		})
		switch {
		case err != nil:
			return eventlog.Batch{}, err
		case gap != nil:
			*c = cursor{fresh: true}
			return eventlog.Batch{Sampled: sampled, Gap: gap}, nil
		case len(page) > 0:
			*c = cursor{page[len(page)-1].at, true, len(page) == pageSize}
			return newBatch(page, sampled), nil
		case c.fresh:
			c.fresh = false
			return newBatch(nil, sampled), nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return newBatch(nil, sampled), nil
		case <-ctx.Done():
			return eventlog.Batch{}, context.Cause(ctx)
		}
	}
}

// behind gives the page behind the cursor, or the gap if its anchor is gone. The caller holds the lock.
func (l *Log) behind(c cursor) ([]stored, *eventlog.Gap) {
	if c.anchored && (l.stream == nil || !l.stream.has(c.at)) {
		return nil, l.stream.state().Gap(c.at)
	}
	if l.stream == nil {
		return nil, nil
	}
	return l.stream.page(c.at.Next(), events.End, pageSize), nil
}

// Last implements [eventlog.Reader].
func (l *Log) Last(ctx context.Context) (at events.Position, ok bool, err error) {
	err = l.do(ctx, OpLast, func() error {
		if ok = l.stream != nil; ok {
			at = l.stream.last
		}
		return nil
	})
	return at, ok, err
}
