package projection

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// periodic says why no periodic trigger is due, as a refusal reason; empty if one is.
func (s *State) periodic(t *Timing, now time.Duration) events.RefusalReason {
	switch at, ok := s.periodicAt(t); {
	case !s.slotFree():
		return events.RefusedPendingBlocks
	case !ok || now < at:
		return events.RefusedTooEarly
	}
	return ""
}

// periodicAt is when interval and min-pause allow the next periodic trigger; false if there is none.
func (s *State) periodicAt(t *Timing) (time.Duration, bool) {
	if s.policy.Interval <= 0 || !t.ready || !s.Ready() {
		return 0, false
	}
	at := t.due
	if pause := millis(s.policy.MinPause); pause > 0 && t.completed {
		at = max(at, t.pause+pause)
	}
	return at, true
}

// Cycle says whether the next periodic trigger is due, and if not, what is in its way: a reason of the closed list and a
// sentence for a person. Without an interval the reason is too_early for ever.
func Cycle(s *State, t *Timing, now time.Duration, g Gates) (events.RefusalReason, string) {
	switch {
	case g.ShuttingDown || g.DrainOver:
		return events.RefusedShuttingDown, s.blocked(g)
	case g.Unverified:
		return events.RefusedUnverified, s.blocked(g)
	case !s.Ready():
		return events.RefusedTasksNotReady, s.NotReady()
	case g.TriggerInFlight:
		return events.RefusedPendingBlocks, "a trigger is under way"
	case s.blocked(g) != "":
		return events.RefusedPendingBlocks, s.blocked(g)
	}
	switch reason := s.periodic(t, now); reason {
	case events.RefusedPendingBlocks:
		return reason, fmt.Sprintf("%d checkpoints may be pending at once", s.policy.MaxConcurrent)
	case events.RefusedTooEarly:
		at, ok := s.periodicAt(t)
		if !ok {
			return reason, "there is no interval"
		}
		return reason, fmt.Sprintf("due in %s", at-now)
	default:
		return reason, ""
	}
}

// NextDue is the earliest time after now at which [Decide] can change its answer though no event comes: a timeout or the
// next periodic trigger. It is on the clock of now; false if time alone changes nothing.
func NextDue(s *State, t *Timing, now time.Duration) (time.Duration, bool) {
	due, found := time.Duration(0), false
	note := func(at time.Duration) {
		if at > now && (!found || at < due) {
			due, found = at, true
		}
	}
	for _, c := range s.live {
		if armed, ok := t.armed[c.sum.ID]; ok && c.sum.Phase == PhasePending && c.sum.Timeout > 0 {
			note(armed + c.sum.Timeout + 1) // expires when strictly more than the timeout has passed
		}
	}
	if at, ok := s.periodicAt(t); ok && s.slotFree() && s.head() == nil {
		note(at)
	}
	return due, found
}
