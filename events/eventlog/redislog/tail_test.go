package redislog_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
)

// limit ends a test that waits for what does not come.
const limit = 30 * time.Second

func ack(id events.EventID) events.Envelope {
	return events.Envelope{ID: id, At: 1, Event: &events.TaskAcked{Epoch: 1, Checkpoint: 1, Task: "t-1", Attempt: 1}}
}

func candidate(name events.InstanceID) eventlog.Candidate {
	return eventlog.Candidate{
		Instance: name, TTL: time.Minute, Policy: events.Policy{Count: 1, MaxConcurrent: 1, Retain: 1, QueueLimit: 1},
	}
}

// tail follows a log in steps.
type tail struct {
	t    *testing.T
	next func() (eventlog.Batch, error, bool)
}

func follow(t *testing.T, l *redislog.Log, after events.Position) *tail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	next, stop := iter.Pull2(l.Follow(ctx, after, eventlog.FollowOptions{}))
	t.Cleanup(func() { stop(); cancel() })
	return &tail{t, next}
}

func (f *tail) batch() eventlog.Batch {
	f.t.Helper()
	b, err, ok := f.next()
	if err != nil || !ok {
		f.t.Fatalf("follow: %v, %v", err, ok)
	}
	return b
}

// await gives the ids of the next events, at least n; a gap fails the test.
func (f *tail) await(n int) (ids []events.EventID, last events.Position) {
	f.t.Helper()
	for len(ids) < n {
		b := f.batch()
		if b.Gap != nil {
			f.t.Fatalf("unexpected gap %+v", *b.Gap)
		}
		for _, e := range b.Entries {
			ids, last = append(ids, e.Envelope.ID), e.Position
		}
	}
	return ids, last
}

func (f *tail) expect(want ...events.EventID) events.Position {
	f.t.Helper()
	got, last := f.await(len(want))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.t.Fatalf("got %v, want %v", got, want)
	}
	return last
}

func (f *tail) gap() eventlog.Gap {
	f.t.Helper()
	for {
		b := f.batch()
		if b.Gap != nil {
			return *b.Gap
		}
		if len(b.Entries) > 0 {
			f.t.Fatalf("entries came instead of a gap: %v", b.Entries)
		}
	}
}

func publish(t *testing.T, l *redislog.Log, ids ...events.EventID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, id := range ids {
		if err := l.Publish(ctx, ack(id)); err != nil {
			t.Fatal(err)
		}
	}
}
