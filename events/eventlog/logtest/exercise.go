package logtest

import (
	"context"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Limit ends a test that waits for what does not come.
const Limit = 30 * time.Second

// Server is a fresh log of one job, with what a test must do to it behind the implementation's back.
type Server struct {
	// Job is used by all; Other is the same log as another process sees it (it may be the same value).
	Job, Other eventlog.Job
	// Inject appends an entry of any fields, as a stranger could.
	Inject func(fields ...eventlog.Field) events.Position
	// Drop deletes the stream of the log and nothing else.
	Drop func()
	// DropToken deletes the token.
	DropToken func()
	// TrimTo removes all entries before the position.
	TrimTo func(before events.Position)
	// Uncounted says that the server does not count removed entries (Redis 6.2, miniredis), so that a stream that was deleted
	// and has begun anew looks like a trimmed one.
	Uncounted bool
}

// Exercise runs the contract. In runs the body of each test, for example in a bubble of virtual time; nil runs it as it is.
func Exercise(t *testing.T, in func(t *testing.T, body func(t *testing.T)), serve func(t *testing.T) Server) {
	if in == nil {
		in = func(t *testing.T, body func(t *testing.T)) { body(t) }
	}
	for _, group := range []map[string]func(*rig){reading(), following(), gaps(), leading(), fencing(), beside()} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				in(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), Limit)
					defer cancel()
					s := serve(t)
					test(&rig{T: t, Server: s, ctx: ctx})
				})
			})
		}
	}
}

// rig is what one test works with.
type rig struct {
	*testing.T
	Server
	ctx context.Context //nolint:containedctx // of one test
	n   int
}

// ack makes a distinct event.
func (r *rig) ack() events.Envelope {
	r.n++
	return events.Envelope{ID: eventlog.NewEventID(), At: int64(r.n), Event: &events.TaskAcked{
		Epoch: 1, Checkpoint: events.CheckpointID(r.n), Task: "t-1", Attempt: 1,
	}}
}

func (r *rig) acks(n int) []events.Envelope {
	envs := make([]events.Envelope, n)
	for i := range envs {
		envs[i] = r.ack()
	}
	return envs
}

// check ends the test if something went wrong while doing it.
func (r *rig) check(doing string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", doing, err)
	}
}

func (r *rig) publish(envs ...events.Envelope) {
	r.Helper()
	r.check("publish", r.Job.Publish(r.ctx, envs...))
}

// candidate is one that campaigns under the name.
func candidate(name string) eventlog.Candidate {
	return eventlog.Candidate{
		Instance: events.InstanceID(name), Build: "test", TTL: time.Minute, At: 7,
		Policy: events.Policy{Count: 1, MaxConcurrent: 1, Retain: 1, QueueLimit: 1},
	}
}

// lead gives a new term to the name, from whoever has it.
func (r *rig) lead(name string) eventlog.Term {
	r.Helper()
	term, err := r.Job.Campaign(r.ctx, candidate(name))
	r.check("campaign", err)
	return term
}

// takeover gives a new term to a second instance after the first one's lease has been given up behind its back: it goes
// on to believe that it leads.
func (r *rig) takeover(old eventlog.Term, name string) eventlog.Term {
	r.Helper()
	r.check("resign", old.Resign(r.ctx))
	return r.lead(name)
}

// all reads the whole log.
func (r *rig) all() []eventlog.Entry {
	r.Helper()
	return r.between(events.Start, events.End)
}

func (r *rig) between(from, to events.Position) []eventlog.Entry {
	r.Helper()
	var got []eventlog.Entry
	for b, err := range r.Other.Read(r.ctx, from, to) {
		r.check("read", err)
		got = append(got, b.Entries...)
	}
	return got
}

// follow runs the sequence in steps: each call of the function it returns gives the next batch.
func (r *rig) follow(after events.Position, wait time.Duration) (next func() eventlog.Batch) {
	r.Helper()
	pull, stop := pullBatches(r.Other.Follow(r.ctx, after, eventlog.FollowOptions{
		MaxWait: func() time.Duration { return wait },
		OnRetry: func(err error, _ time.Duration) { r.Errorf("follow had to retry: %v", err) },
	}))
	r.Cleanup(stop)
	return func() eventlog.Batch {
		r.Helper()
		b, err, ok := pull()
		r.check("follow", err)
		if !ok {
			r.Fatal("follow ended")
		}
		return b
	}
}

// await calls next until n entries have come; empty batches in between are fine, a gap is not.
func (r *rig) await(next func() eventlog.Batch, n int) []eventlog.Entry {
	r.Helper()
	var got []eventlog.Entry
	for len(got) < n {
		b := next()
		if b.Gap != nil {
			r.Fatalf("unexpected gap %+v", *b.Gap)
		}
		got = append(got, b.Entries...)
	}
	return got
}

// poll tries until it is done.
func (r *rig) poll(what string, done func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.Fatalf("waited in vain: %s", what)
		}
	}
}
