package projection

import (
	"maps"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Timing is what the coordinator's monotonic clock has seen. It is no part of the fold: a new coordinator starts with a
// new one, and pending checkpoints of its epoch get their full timeout again. All times are durations since any fixed
// moment of the same process and must not go back. The zero value is ready; the loop calls Observe after each Apply.
type Timing struct {
	// First delays the first periodic trigger after the tasks have become ready; 0 means one interval. Set it to a
	// random value between min-pause and interval so that many jobs do not trigger together.
	First time.Duration

	begun     bool
	epoch     events.Epoch
	armed     map[events.CheckpointID]time.Duration
	ready     bool
	due       time.Duration // the next periodic trigger; meaningful while ready
	completed bool          // one has completed in this epoch
	pause     time.Duration // when the last one completed
}

// NewTiming returns a Timing that has seen the state at now: everything pending is armed from now on.
func NewTiming(now time.Duration, s *State) *Timing {
	t := &Timing{}
	t.begin(now, s)
	return t
}

func (t *Timing) begin(now time.Duration, s *State) {
	t.begun = true
	t.epoch = s.epoch
	t.armed = map[events.CheckpointID]time.Duration{}
	t.completed, t.ready = false, false
	for _, c := range s.live {
		t.armed[c.sum.ID] = now
	}
	t.watchTasks(now, s)
}

// Observe notes what one applied event means for the clock: now is when its batch was read, s the state after it, o its
// outcome. A checkpoint's timeout and the min-pause run from the reading of the trigger and of the completion.
func (t *Timing) Observe(now time.Duration, s *State, e events.Envelope, o Outcome) {
	if !t.begun || t.epoch != s.epoch {
		t.begin(now, s)
	}
	if !o.Changed() {
		return
	}
	switch event := e.Event.(type) {
	case *events.TaskAcked, *events.TaskDeclined:
		return
	case *events.CheckpointTriggered:
		t.triggered(now, s, event)
	case *events.CheckpointCompleted:
		t.completed, t.pause = true, now
	case *events.TaskRegistered, *events.TaskRestored, *events.TaskRestoreFailed, *events.TaskFinished, *events.TaskLeft,
		*events.TaskLost:
		t.watchTasks(now, s)
	default: // the others start no clock
	}
	if o.Ended > 0 {
		for _, id := range s.Ended() {
			delete(t.armed, id)
		}
	}
}

func (t *Timing) triggered(now time.Duration, s *State, e *events.CheckpointTriggered) {
	if c := s.checkpoints[e.Checkpoint]; c != nil && !c.sum.Phase.Terminal() {
		t.armed[e.Checkpoint] = now
	}
	if e.Request == "" {
		t.advance(now, s)
	}
}

// advance moves the periodic trigger on by one interval. It keeps the rhythm if it was less than half an interval late,
// and begins a new one otherwise: missed ticks are skipped, never made up.
func (t *Timing) advance(now time.Duration, s *State) {
	interval := millis(s.policy.Interval)
	if late := now - t.due; late >= 0 && late < interval/2 {
		t.due += interval
		return
	}
	t.due = now + interval
}

// PeriodicFailed notes that a periodic trigger that was decided on came to nothing (the store refused its record): the
// next is due one interval later.
func (t *Timing) PeriodicFailed(now time.Duration, s *State) { t.advance(now, s) }

// watchTasks starts the rhythm when the tasks become ready, and stops it when they are not any more.
func (t *Timing) watchTasks(now time.Duration, s *State) {
	ready := s.Ready()
	if ready && !t.ready {
		first := t.First
		if first <= 0 {
			first = millis(s.policy.Interval)
		}
		t.due = now + first
	}
	t.ready = ready
}

// Clone returns a copy that shares nothing.
func (t *Timing) Clone() *Timing {
	c := *t
	c.armed = maps.Clone(t.armed)
	return &c
}

// expired reports whether a pending checkpoint has been so for longer than its timeout.
func (t *Timing) expired(now time.Duration, c *checkpoint) bool {
	armed, ok := t.armed[c.sum.ID]
	return ok && c.sum.Timeout > 0 && now-armed > c.sum.Timeout
}

// millis reads a time of the log; 0 or less stands for none. More than a hundred years is a hundred years, so that sums of
// two never overflow.
func millis(ms int64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(min(max(ms, 0), int64(century/time.Millisecond))) * time.Millisecond
}
