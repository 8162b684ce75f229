package projection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// Doubt is what an attempt has said about its restore point: that the store does not hold it as it was written. The zero
// value means that there is none. It stays until the checkpoint is kept no more, or the task has restored one.
type Doubt struct {
	Checkpoint events.CheckpointID
	Attempt    events.Attempt
	Reason     events.RestoreFailure
	Text       string
}

// IsZero reports whether there is no doubt.
func (d Doubt) IsZero() bool { return d.Reason == "" }

// taskRestoreFailed ends an attempt that could not restore, and keeps its doubt while the checkpoint is kept.
func (s *State) taskRestoreFailed(at stamp, e *events.TaskRestoreFailed) Outcome {
	s.see(e.Checkpoint, false)
	t, o := s.current(e.Task, e.Attempt)
	if t == nil {
		return o
	}
	o.Checkpoint = e.Checkpoint
	switch {
	case e.Checkpoint != t.sum.Restore && e.Checkpoint != t.sum.Given:
		o.Kind, o.Why = Refused, "not the restore point of this attempt"
		return o
	case t.sum.Phase == TaskIsRestored || t.sum.Phase == TaskIsFinished:
		o.Kind, o.Why = Refused, "the attempt has restored"
		return o
	case t.sum.Phase == TaskIsLost && (t.sum.Doubt.Attempt == e.Attempt || !s.restorePoint(e.Checkpoint)):
		o.Kind = Duplicate
		return o
	}
	if s.restorePoint(e.Checkpoint) {
		s.setDoubt(t, Doubt{Checkpoint: e.Checkpoint, Attempt: e.Attempt, Reason: e.Reason, Text: clip(e.Text)})
	}
	if t.sum.Phase == TaskIsRegistered {
		s.setPhase(t, TaskIsLost)
		s.failWaiting(t, at, "task "+string(e.Task)+" could not restore")
	}
	return o
}

// restorePoint reports whether a task may be given the checkpoint: it is completed, kept and no savepoint.
func (s *State) restorePoint(id events.CheckpointID) bool {
	c := s.checkpoints[id]
	return c != nil && c.sum.Phase == PhaseCompleted && !c.savepoint()
}

// withdrawalRequested lets a request wait for the coordinator's look at the store; what is no restore point is refused.
func (s *State) withdrawalRequested(at stamp, e *events.WithdrawalRequested) Outcome {
	if r := s.requests.byID[e.Request]; r != nil {
		return s.repeated(r, r.Withdraw && r.UpTo == e.Checkpoint && r.Forced == e.Forced && r.ToNothing == e.ToNothing)
	}
	r := &Request{
		ID: e.Request, Status: RequestExamining, Withdraw: true, UpTo: e.Checkpoint, Forced: e.Forced, ToNothing: e.ToNothing,
		Cause: clip(e.Cause), By: clip(e.By), Position: at.pos, At: at.at, Checkpoint: events.NoCheckpoint,
	}
	if !s.requests.add(r) {
		return plain(Refused, "4096 requests wait for an answer")
	}
	s.stats.Requests++
	if !s.restorePoint(e.Checkpoint) {
		s.requests.deny(r, events.RefusedNotKept)
	}
	return about(e.Checkpoint, "", Applied, "")
}

// checkpointsWithdrawn retires restore points that cannot be restored, all of them or none. Whoever was to restore one of
// them restores the newest that is left.
func (s *State) checkpointsWithdrawn(e *events.CheckpointsWithdrawn) Outcome {
	top := highest(e.Checkpoints)
	s.see(top, true)
	var gone []*checkpoint
	for _, id := range e.Checkpoints {
		c := s.checkpoints[id]
		switch {
		case s.restorePoint(id) && !slices.Contains(gone, c):
			gone = append(gone, c)
		case c != nil && (!c.sum.Phase.Terminal() || c.sum.Phase == PhaseCompleted && c.savepoint()):
			return about(top, "", Refused, "one of them is live or a savepoint, and stays")
		}
	}
	switch {
	case len(gone) == 0:
		return about(top, "", Duplicate, "")
	case len(gone) == len(s.completed) && !e.ToNothing:
		return about(top, "", Refused, "no completed checkpoint would be left")
	}
	for _, c := range gone {
		s.requests.withdrawn(e.Request, c.sum.ID)
		s.retire(c, &withdrawal{e.Why})
		s.stats.Withdrawn++
	}
	s.moveRestorePoints()
	return about(top, "", Applied, "")
}

// withdrawal is why a retired checkpoint was withdrawn.
type withdrawal struct{ why string }

// moveRestorePoints gives each task whose restore point is kept no more the newest one that is.
func (s *State) moveRestorePoints() {
	latest := s.LatestCompleted()
	for _, t := range s.tasks { // the order does not matter: each row changes alone
		if t.sum.Phase == TaskIsRegistered && t.sum.Pinned && !s.restorePoint(t.sum.Restore) {
			t.sum.Restore = latest
			s.setPhase(t, TaskIsRegistered)
			s.tasksVersion++
		}
	}
}

// setDoubt keeps the count of doubting tasks.
func (s *State) setDoubt(t *task, d Doubt) {
	s.doubting += doubts(d) - doubts(t.sum.Doubt)
	t.sum.Doubt = d
}

// doubts is 1 for a doubt and 0 for none.
func doubts(d Doubt) int {
	if d.IsZero() {
		return 0
	}
	return 1
}

// forgetDoubts drops what has been said about a checkpoint that is kept no more.
func (s *State) forgetDoubts(id events.CheckpointID) {
	if s.doubting == 0 {
		return
	}
	for _, t := range s.tasks { // the order does not matter
		if t.sum.Doubt.Checkpoint == id {
			s.setDoubt(t, Doubt{})
		}
	}
}

// decideExamine asks for a look at each restore point that a worker doubts or somebody wants withdrawn.
func (s *State) decideExamine(out []Decision, g Gates) []Decision {
	if g.ShuttingDown {
		return out
	}
	if s.doubting > 0 {
		out = s.decideDoubts(out)
	}
	for _, r := range s.requests.exam {
		out = append(out, Examine{ID: r.UpTo, Request: r.ID, Forced: r.Forced, ToNothing: r.ToNothing, Cause: r.Cause})
	}
	return out
}

func (s *State) decideDoubts(out []Decision) []Decision {
	doubted := map[events.CheckpointID][]events.TaskID{}
	for id, t := range s.tasks {
		if !t.sum.Doubt.IsZero() {
			doubted[t.sum.Doubt.Checkpoint] = append(doubted[t.sum.Doubt.Checkpoint], id)
		}
	}
	for _, c := range s.completed {
		if tasks := doubted[c.sum.ID]; len(tasks) > 0 {
			slices.SortFunc(tasks, func(a, b events.TaskID) int { return strings.Compare(string(a), string(b)) })
			out = append(out, Examine{ID: c.sum.ID, Tasks: tasks})
		}
	}
	return out
}

// stands says in a few words that a task could not restore; empty if it could.
func (d Doubt) stands() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("could not restore checkpoint %s (%s)", d.Checkpoint, d.Reason)
}
