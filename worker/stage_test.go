package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
	"github.com/tidemark-stream/tidemark/worker"
)

const task = events.TaskID("task-0")

// stage is a job in memory whose coordinator is the test, by hand. It lives in a bubble.
type stage struct {
	*testing.T
	log    *memlog.Log
	inner  *memory.Job
	store  store.JobStore
	faults storetest.Faults
	term   eventlog.Term

	mu    sync.Mutex
	fault func(ctx context.Context, op memlog.Op) memlog.Outcome // guarded by mu

	control  eventlog.Control
	attempts events.Attempt
	at       events.Position  // read up to here
	waiting  []eventlog.Entry // read, and taken by nobody yet
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, control: eventlog.Control{LatestCompleted: events.NoCheckpoint}}
	s.log = memlog.New(memlog.Config{Job: "job", Fault: func(ctx context.Context, op memlog.Op) memlog.Outcome {
		s.mu.Lock()
		f := s.fault
		s.mu.Unlock()
		if f == nil {
			return memlog.Outcome{}
		}
		return f(ctx, op)
	}})
	var err error
	s.inner, err = memory.NewJob(memory.JobOptions{Leader: s.leader})
	s.must(err)
	s.store = storetest.NewFaultyJob(s.inner, &s.faults)
	s.lead("boss")
	return s
}

func (s *stage) leader() (store.Fence, bool) {
	epoch, instance, ok := s.log.Token()
	return store.Fence{Epoch: epoch, Instance: instance}, ok
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) setFault(f func(ctx context.Context, op memlog.Op) memlog.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// failing makes every call of the worker's of these kinds fail with an error that can pass.
func (s *stage) failing(ops ...memlog.Op) {
	s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
		if slices.Contains(ops, op) {
			return memlog.Lost(op)
		}
		return memlog.Outcome{}
	})
}

// lead begins a new epoch.
func (s *stage) lead(instance events.InstanceID) {
	s.Helper()
	if s.term != nil {
		s.must(s.term.Resign(s.Context()))
	}
	term, err := s.log.Campaign(s.Context(), eventlog.Candidate{
		Instance: instance, TTL: time.Hour, At: time.Now().UnixMilli(), Policy: events.Policy{Tasks: []events.TaskID{task}, Timeout: -1, MaxConcurrent: 9, Retain: 9, QueueLimit: 9},
	})
	s.must(err)
	s.term = term
}

// next waits for the next event of type E that nobody has taken yet.
func next[E events.Event](s *stage) E {
	s.Helper()
	began := time.Now()
	for b, err := range s.log.Follow(s.Context(), s.at, eventlog.FollowOptions{}) {
		s.must(err)
		s.waiting = append(s.waiting, b.Entries...)
		if n := len(b.Entries); n > 0 {
			s.at = b.Entries[n-1].Position
		}
		for i, e := range s.waiting {
			if found, ok := e.Envelope.Event.(E); ok {
				s.waiting = slices.Delete(s.waiting, i, i+1)
				return found
			}
		}
		if time.Since(began) > 5*time.Minute {
			break
		}
	}
	var none E
	s.Fatalf("no %T within 5 minutes", none)
	return none
}

// count is how many events of type E there are in the log.
func count[E events.Event](s *stage) (n int) {
	s.Helper()
	for b, err := range s.log.Read(s.Context(), events.Start, events.End) {
		s.must(err)
		for _, e := range b.Entries {
			if _, ok := e.Envelope.Event.(E); ok {
				n++
			}
		}
	}
	return n
}

// write makes the control state known.
func (s *stage) write() {
	s.Helper()
	at, _, err := s.log.Last(s.Context())
	s.must(err)
	s.control.Position = at
	s.must(s.term.WriteControl(s.Context(), s.control))
}

// give gives the instance the next attempt.
func (s *stage) give(instance events.InstanceID, restore events.CheckpointID) events.Attempt {
	s.Helper()
	s.attempts++
	s.assign(eventlog.Assignment{Instance: instance, Attempt: s.attempts, Restore: restore, Phase: "registered"})
	return s.attempts
}

func (s *stage) assign(a eventlog.Assignment) {
	s.Helper()
	s.must(s.term.WriteTasks(s.Context(), map[events.TaskID]eventlog.Assignment{task: a}))
	s.control.TasksVersion++
	s.write()
}

// admit waits for a registration and answers it.
func (s *stage) admit(restore events.CheckpointID) *events.TaskRegistered {
	s.Helper()
	r := next[*events.TaskRegistered](s)
	s.give(r.Instance, restore)
	return r
}

// start admits a worker that restores nothing, and waits until it runs.
func (s *stage) start(cfg worker.Config) *running {
	s.Helper()
	r := s.run(cfg)
	r.admitted = s.admit(events.NoCheckpoint)
	next[*events.TaskRestored](s)
	return r
}

// pend makes exactly these checkpoints pending.
func (s *stage) pend(ids ...events.CheckpointID) {
	s.Helper()
	s.control.Pending = nil
	for _, id := range ids {
		s.control.Pending = append(s.control.Pending, eventlog.PendingCheckpoint{
			ID: id, Type: events.TypeCheckpoint, Epoch: s.term.Epoch(), TriggeredAt: time.Now().UnixMilli(),
		})
	}
	s.write()
}

// complete makes a checkpoint the newest completed one, with a record of the ack's handle.
func (s *stage) complete(ack *events.TaskAcked) {
	s.Helper()
	s.record(ack.Checkpoint, task, ack.Handle, true)
	s.control.LatestCompleted = ack.Checkpoint
	s.pend()
}

func (s *stage) record(id events.CheckpointID, of events.TaskID, h events.StateHandle, completed bool) {
	s.Helper()
	b, err := h.Encode(nil)
	s.must(err)
	cp := store.New(id, time.Now().UnixMilli())
	cp.State[of.String()] = json.RawMessage(b)
	cp.Completed = completed
	s.must(s.fenced().Create(s.Context(), cp))
}

func (s *stage) fenced() store.JobStore {
	f, _ := s.leader()
	return s.inner.Fenced(f)
}

// presences are the signs of life that others see, a few milliseconds from now.
func (s *stage) presences() map[events.TaskID]eventlog.Presence {
	s.Helper()
	time.Sleep(2 * time.Millisecond) // of virtual time: a farewell lives for one
	seen, err := s.log.Presences(s.Context(), []events.TaskID{task})
	s.must(err)
	return seen
}

// running is a worker under way.
type running struct {
	w        *worker.Worker
	cancel   context.CancelCauseFunc
	done     chan struct{}
	err      error
	admitted *events.TaskRegistered
}

// run starts a worker; the test ends it if nothing else does.
func (s *stage) run(cfg worker.Config) *running {
	s.Helper()
	if cfg.Task == "" {
		cfg.Task = task
	}
	if cfg.Log == nil {
		cfg.Log = s.log
	}
	if cfg.Store == nil {
		cfg.Store = s.store
	}
	w, err := worker.New(cfg)
	s.must(err)
	ctx, cancel := context.WithCancelCause(s.Context())
	r := &running{w: w, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = w.Run(ctx)
	}()
	s.Cleanup(func() {
		cancel(errors.New("the test is over"))
		<-r.done
	})
	return r
}

// wait returns what Run returned.
func (r *running) wait() error {
	<-r.done
	return r.err
}

func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
