package projection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Gates is what only the coordinator's loop knows. The zero value stands for an open road.
type Gates struct {
	// Unverified: the store could not be read since the start, so no id is safe: no trigger, requests are refused.
	Unverified bool
	// ShuttingDown: no trigger, requests are refused.
	ShuttingDown bool
	// DrainOver: the shutdown waits no longer; everything pending fails by name.
	DrainOver bool
	// TriggerInFlight: a trigger was handed on and has not come back: no other now.
	TriggerInFlight bool
	// LostTasks are attempts whose presence lapsed. Those that are current and not finished are to be logged as lost.
	LostTasks []events.TaskAttempt
	// NextID is one above the highest id in the store; 0 if it holds none.
	NextID events.CheckpointID
}

// Decide says what is to be done, given the fold, the clock and the gates, under the policy in force. It changes nothing
// and its answer is a function of its arguments alone: the same ones give the same decisions in the same order (losses and
// failures, finalizations, refusals, looks at doubtful restore points, at most one trigger, retirement, discard). It is level-triggered: what is not done yet
// comes again at the next call, so the loop must remember what is in flight ([Decision.Key]). Before the first coordinator
// has started there is nothing to decide.
func Decide(s *State, t *Timing, now time.Duration, g Gates) []Decision {
	if s.since.IsZero() {
		return nil
	}
	var out []Decision
	out = s.decideLosses(out, g)
	out = s.decideVerdicts(out, t, now, g)
	out = s.decideRefusals(out, g)
	out = s.decideExamine(out, g)
	out = s.decideTrigger(out, t, now, g)
	out = s.decideRetire(out)
	return s.decideDiscard(out)
}

func (s *State) decideLosses(out []Decision, g Gates) []Decision {
	for _, lost := range g.LostTasks {
		t := s.tasks[lost.Task]
		if t != nil && t.sum.Attempt == lost.Attempt && (t.sum.Phase == TaskIsRegistered || t.sum.Phase == TaskIsRestored) {
			out = append(out, Lose{Task: lost.Task, Attempt: lost.Attempt})
		}
	}
	return out
}

func (s *State) decideVerdicts(out []Decision, t *Timing, now time.Duration, g Gates) []Decision {
	var finalize []Decision
	for _, c := range s.live {
		if c.sum.Phase == PhaseFinalizing {
			finalize = append(finalize, Finalize{ID: c.sum.ID})
			continue
		}
		if reason, text := c.verdict(t, now, g); reason != "" {
			out = append(out, Fail{ID: c.sum.ID, Reason: reason, Missing: c.missing(len(c.required)), Text: text})
		}
	}
	return append(out, finalize...)
}

// verdict is the reason for which a pending checkpoint is to fail now; empty if none.
func (c *checkpoint) verdict(t *Timing, now time.Duration, g Gates) (events.FailureReason, string) {
	d, a := c.sum.Decline, c.sum.Abort
	switch {
	case d.Task != "" && (a.Request == "" || d.Position.Before(a.Position)):
		cause := d.Text
		if cause == "" {
			cause = string(d.Reason)
		}
		return events.FailedDeclined, clip(fmt.Sprintf("Checkpoint declined by task %s: %s", d.Task, cause))
	case a.Request != "":
		text := "aborted by request " + string(a.Request)
		if a.Cause != "" {
			text = a.Cause
		}
		return events.FailedAborted, text
	case t.expired(now, c):
		return events.FailedExpired, fmt.Sprintf("%d of %d acks within %s", c.sum.Acked, c.sum.Required, c.sum.Timeout)
	case g.DrainOver:
		return events.FailedShutdown, fmt.Sprintf("%d of %d acks when the coordinator stopped", c.sum.Acked, c.sum.Required)
	}
	return "", ""
}

// decideRefusals answers what can be answered no at once: refusals that are due, and queued requests that the gates refuse.
func (s *State) decideRefusals(out []Decision, g Gates) []Decision {
	for _, r := range s.requests.owed {
		if r.conflict {
			out = append(out, Refuse{Request: r.ID, Reason: events.RefusedDuplicate, Remedy: "use a new request id for a new request"})
		}
		if r.Status == RequestRefusing {
			out = append(out, Refuse{Request: r.ID, Reason: r.Reason, Remedy: s.remedy(r)})
		}
	}
	for _, r := range s.requests.queue {
		if reason, remedy := s.refuse(r, g); reason != "" {
			out = append(out, Refuse{Request: r.ID, Reason: reason, Remedy: remedy})
		}
	}
	return out
}

func (s *State) remedy(r *Request) string {
	switch {
	case r.Withdraw:
		return fmt.Sprintf("no task restores checkpoint %s: it is not completed, not kept any more, or a savepoint", r.UpTo)
	case r.Abort:
		return fmt.Sprintf("no checkpoint up to %s was pending; look at the list of checkpoints", r.UpTo)
	}
	return fmt.Sprintf("the queue holds %d; ask again when one of them has been answered", s.policy.QueueLimit)
}

// refuse is the reason for which a queued request is refused instead of waiting; empty if it may wait.
func (s *State) refuse(r *Request, g Gates) (events.RefusalReason, string) {
	switch {
	case g.ShuttingDown:
		return events.RefusedShuttingDown, "ask the next coordinator"
	case g.Unverified:
		return events.RefusedUnverified, "the store cannot be read; ask again when it can"
	case !s.Ready():
		return events.RefusedTasksNotReady, s.NotReady()
	case r.Type == events.TypeSavepoint && len(s.savepoints) >= MaxSavepoints:
		return events.RefusedQueueFull, fmt.Sprintf("%d savepoints are kept, and no more fit", MaxSavepoints)
	}
	return "", ""
}

func (s *State) decideTrigger(out []Decision, t *Timing, now time.Duration, g Gates) []Decision {
	if g.TriggerInFlight || s.blocked(g) != "" {
		return out
	}
	next := Trigger{ID: max(s.nextID, g.NextID), Timeout: millis(s.policy.Timeout)}
	if next.ID >= maxCheckpoint {
		return out
	}
	switch r := s.head(); {
	case r != nil:
		next.Type, next.Request, next.Cause, next.JoiningEvent = r.Type, r.ID, r.Cause, r.JoiningEvent
	case s.periodic(t, now) == "":
		next.Type, next.Cause = events.TypeCheckpoint, "periodic"
	default:
		return out
	}
	next.Tasks, next.Count = s.required()
	return append(out, next)
}

// blocked says why nothing at all may be triggered, not even a savepoint; empty if it may.
func (s *State) blocked(g Gates) string {
	switch {
	case g.ShuttingDown, g.DrainOver:
		return "the coordinator is shutting down"
	case g.Unverified:
		return "the store could not be read since the start"
	case !s.Ready():
		return s.NotReady()
	case int64(len(s.waste)) > s.policy.MaxConcurrent:
		return fmt.Sprintf("%d ended checkpoints wait for their state to be discarded", len(s.waste))
	case len(s.live) >= MaxLive:
		return fmt.Sprintf("%d checkpoints are live", len(s.live))
	}
	return ""
}

// head is the request to serve now: the oldest savepoint, else the oldest checkpoint if a slot is free.
func (s *State) head() *Request {
	for _, r := range s.requests.queue {
		if r.Type == events.TypeSavepoint && len(s.savepoints) < MaxSavepoints {
			return r
		}
	}
	if !s.slotFree() {
		return nil
	}
	for _, r := range s.requests.queue {
		if r.Type != events.TypeSavepoint {
			return r
		}
	}
	return nil
}

// slotFree reports whether fewer plain checkpoints are live than may be at once.
func (s *State) slotFree() bool {
	n := int64(0)
	for _, c := range s.live {
		if c.sum.Type != events.TypeSavepoint {
			n++
		}
	}
	return n < s.policy.MaxConcurrent
}

// required is what the next trigger must wait for.
func (s *State) required() ([]events.TaskAttempt, int64) {
	if len(s.expected) == 0 {
		return nil, s.policy.Count
	}
	list := make([]events.TaskAttempt, 0, len(s.expected))
	for _, id := range s.expected {
		if t := s.tasks[id]; t != nil && t.sum.Phase != TaskIsFinished {
			list = append(list, events.TaskAttempt{Task: id, Attempt: t.sum.Attempt})
		}
	}
	return list, 0
}

func (s *State) decideRetire(out []Decision) []Decision {
	surplus := int64(len(s.completed)) - max(s.policy.Retain, 1)
	if surplus <= 0 || s.doubting > 0 || len(s.requests.exam) > 0 { // an older one may be needed yet
		return out
	}
	pinned := s.pinned()
	var ids []events.CheckpointID
	for _, c := range s.completed[:surplus] {
		if !slices.Contains(pinned, c.sum.ID) {
			ids = append(ids, c.sum.ID)
		}
	}
	if len(ids) == 0 {
		return out
	}
	return append(out, Retire{IDs: ids})
}

func (s *State) decideDiscard(out []Decision) []Decision {
	if len(s.waste) == 0 {
		return out
	}
	ids := make([]events.CheckpointID, 0, min(len(s.waste), MaxDiscard))
	for _, c := range s.waste[:min(len(s.waste), MaxDiscard)] {
		ids = append(ids, c.sum.ID)
	}
	return append(out, Discard{IDs: ids})
}

// Ready reports whether a checkpoint may be triggered as far as tasks go: every expected one is restored or finished, and
// not all are finished. For checkpoints by count only the latter matters.
func (s *State) Ready() bool {
	if len(s.expected) == 0 {
		return s.policy.Count > int64(s.finished)
	}
	return s.ready == len(s.expected) && s.finished < len(s.expected)
}

// NotReady names up to five tasks that are in the way and what they lack, for a person; empty when Ready.
func (s *State) NotReady() string {
	if s.Ready() {
		return ""
	}
	if s.finished > 0 && s.finished >= len(s.expected) {
		return "all tasks have finished"
	}
	var names []string
	more := 0
	for _, id := range s.expected {
		what := "has not registered"
		if t := s.tasks[id]; t != nil {
			switch t.sum.Phase {
			case TaskIsRestored, TaskIsFinished:
				continue
			case TaskIsRegistered:
				what = "has not restored yet"
			case TaskIsLost:
				what = "is lost"
				if t.sum.Left {
					what = "has left"
				}
			}
			what = cmp.Or(t.sum.Doubt.stands(), what)
		}
		if len(names) == 5 {
			more++
			continue
		}
		names = append(names, "task "+string(id)+" "+what)
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return "no coordinator has started"
	}
	return "start the tasks: " + strings.Join(names, ", ")
}
