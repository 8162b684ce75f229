package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/projection/view"
)

// story follows the log, tells what it says, and keeps what the acts wait for.
type story struct {
	screen *screen
	state  *projection.State

	mu        sync.Mutex
	changed   chan struct{} // closed and made anew at each change; guarded by mu, as all below
	completed int
	finished  map[events.TaskID]bool
	epoch     events.Epoch
	attempts  map[events.TaskID]events.Attempt
	restored  map[events.TaskID]int
	lost      map[events.TaskID]bool
}

func newStory(s *screen, job events.JobID) *story {
	return &story{
		screen: s, state: projection.New(job), changed: make(chan struct{}),
		attempts: make(map[events.TaskID]events.Attempt), restored: make(map[events.TaskID]int), lost: make(map[events.TaskID]bool),
		finished: make(map[events.TaskID]bool),
	}
}

// await returns when cond holds; cond reads the story under its lock.
func (s *story) await(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hasFinished waits a moment for the log to say so: the process ends right after it has.
func (s *story) hasFinished(ctx context.Context, task events.TaskID) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return s.await(ctx, func() bool { return s.finished[task] }) == nil
}

func (s *story) watch(ctx context.Context, log eventlog.Reader) error {
	for batch, err := range log.Follow(ctx, events.Start, eventlog.FollowOptions{}) {
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		apply(s.state, batch.Entries, s.tell)
	}
	return nil
}

func (s *story) tell(e eventlog.Entry, o projection.Outcome) {
	if !o.Changed() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event := e.Envelope.Event.(type) {
	case *events.CoordinatorStarted:
		s.epoch = event.Epoch
		s.screen.event("coordinator leads in epoch %s", event.Epoch)
	case *events.TaskRegistered:
		s.attempts[event.Task] = o.Attempt
		if o.Attempt > 1 {
			s.screen.event("%s: attempt %s goes on from checkpoint %s", event.Task, o.Attempt, o.Checkpoint)
		}
	case *events.TaskRestored:
		s.restored[event.Task]++
	case *events.TaskLost:
		s.lost[event.Task] = true
		s.screen.event("%s is lost: %s", event.Task, event.Text)
	case *events.TaskFinished:
		s.finished[event.Task] = true
		s.screen.event("%s has finished; its end state is in checkpoint %s", event.Task, event.Checkpoint)
	default: // verdicts are told below, the rest is detail
	}
	s.tellEnded()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *story) tellEnded() {
	for _, id := range s.state.Ended() {
		c, ok := s.state.Checkpoint(id)
		switch {
		case !ok:
		case c.Phase == projection.PhaseFailed:
			s.screen.event("checkpoint %s %s: %s", id, s.screen.p.Red("failed"), c.Reason)
		default:
			s.completed++
			s.screen.event("checkpoint %s %s  %s, %s, %d ms", id, s.screen.p.Green("completed"), counted(c.Acked, "ack"), view.Bytes(c.Bytes), max(c.EndedAt-c.TriggeredAt, 0))
		}
	}
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
