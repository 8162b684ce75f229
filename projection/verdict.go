package projection

import (
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// checkpointCompleted accepts the verdict if all acks are in, or if a person forced it. A plain one subsumes the pending
// plain ones before it.
func (s *State) checkpointCompleted(at stamp, e *events.CheckpointCompleted) Outcome {
	s.see(e.Checkpoint, true)
	c, o := s.undecided(e.Checkpoint)
	if c == nil {
		if v, ok := s.Checkpoint(e.Checkpoint); ok && v.Phase != PhaseFailed {
			o.Kind, o.Why = Duplicate, ""
		}
		return o
	}
	if c.sum.Phase != PhaseFinalizing && !e.Forced {
		o.Kind, o.Why = Refused, "not all acks are in"
		return o
	}
	c.sum.Forced, c.sum.Bytes, c.sum.RecordKey = e.Forced && c.sum.Phase != PhaseFinalizing, e.Bytes, clip(e.RecordKey)
	s.close(c, at, PhaseCompleted)
	s.stats.Completed++
	if c.sum.Type == events.TypeSavepoint {
		s.savepoints = insert(s.savepoints, c)
		return o
	}
	s.completed = insert(s.completed, c)
	for i := 0; i < len(s.live) && s.live[i].sum.ID < c.sum.ID; {
		if p := s.live[i]; p.sum.Phase == PhasePending && p.sum.Type != events.TypeSavepoint {
			s.fail(p, at, events.FailedSubsumed, "checkpoint "+c.sum.ID.String()+" completed first")
		} else {
			i++
		}
	}
	return o
}

// checkpointFailed accepts the verdict on a pending checkpoint; on a finalizing one only for what can still go wrong then.
// Shutdown is not among it: all acks are in, so the next coordinator's start ends it, or this one completes it.
func (s *State) checkpointFailed(at stamp, e *events.CheckpointFailed) Outcome {
	s.see(e.Checkpoint, true)
	c, o := s.undecided(e.Checkpoint)
	if c == nil {
		if v, ok := s.Checkpoint(e.Checkpoint); ok && v.Phase == PhaseFailed && v.Reason == e.Reason {
			o.Kind, o.Why = Duplicate, ""
		}
		return o
	}
	finalizing := e.Reason == events.FailedStateMissing || e.Reason == events.FailedFinalize
	if c.sum.Phase == PhaseFinalizing && !finalizing {
		o.Kind, o.Why = Refused, "all acks are in, and this reason cannot undo that"
		return o
	}
	s.fail(c, at, e.Reason, e.Text)
	return o
}

// undecided finds the live checkpoint, or tells why there is none.
func (s *State) undecided(id events.CheckpointID) (*checkpoint, Outcome) {
	c := s.checkpoints[id]
	switch {
	case c != nil && !c.sum.Phase.Terminal():
		return c, about(id, "", Applied, "")
	case c != nil || s.history.knows(id):
		return nil, about(id, "", Late, "the checkpoint has its verdict")
	}
	return nil, about(id, "", UnknownCheckpoint, "")
}

// fail ends a live checkpoint badly. Its handles stay in waste until they are discarded.
func (s *State) fail(c *checkpoint, at stamp, reason events.FailureReason, text string) {
	c.sum.Reason, c.sum.Text = reason, clip(text)
	s.close(c, at, PhaseFailed)
	s.waste = insert(s.waste, c)
	s.stats.Failed[reason]++
}

// close gives a live checkpoint its verdict and writes it into the history.
func (s *State) close(c *checkpoint, at stamp, phase Phase) {
	c.sum.Phase = phase
	c.sum.Ended, c.sum.EndedAt = at.pos, at.at
	c.sum.MissingCount = max(c.sum.Required-c.sum.Acked, 0)
	c.sum.Missing = c.missing(MaxMissing)
	s.live = remove(s.live, c)
	s.requests.ended(&c.sum)
	s.history.add(c.sum)
	s.ended = append(s.ended, c.sum.ID)
}

// checkpointsRetired moves completed checkpoints to waste. The newest and pinned ones stay whatever the event says, and
// savepoints belong to the user.
func (s *State) checkpointsRetired(e *events.CheckpointsRetired) Outcome {
	s.see(highest(e.Checkpoints), true)
	o := about(highest(e.Checkpoints), "", Duplicate, "")
	pinned := s.pinned()
	for _, id := range e.Checkpoints {
		c := s.checkpoints[id]
		switch {
		case c == nil, c.sum.Phase == PhaseFailed, c.sum.Phase == PhaseRetired:
		case c.sum.Phase != PhaseCompleted || c.sum.Type == events.TypeSavepoint ||
			id == s.LatestCompleted() || slices.Contains(pinned, id):
			o.Why = "one of them is live, a savepoint, the newest or somebody's restore point, and stays"
		default:
			s.requests.withdrawn("", id)
			s.retire(c, nil)
			o.Kind = Applied
		}
	}
	if o.Kind != Applied && o.Why != "" {
		o.Kind = Refused
	}
	return o
}

// retire moves a completed checkpoint to waste; of is nil unless it was withdrawn.
func (s *State) retire(c *checkpoint, of *withdrawal) {
	r := *c // clones share c
	r.sum.Phase = PhaseRetired
	if of != nil {
		r.sum.Withdrawn, r.sum.Text = true, clip(of.why)
		s.history.withdraw(&r.sum)
	}
	s.forgetDoubts(r.sum.ID)
	s.completed = remove(s.completed, c)
	s.checkpoints[r.sum.ID] = &r
	s.waste = insert(s.waste, &r)
	s.stats.Retired++
}

// stateDiscarded forgets the handles of failed and retired checkpoints.
func (s *State) stateDiscarded(e *events.StateDiscarded) Outcome {
	s.see(highest(e.Checkpoints), true)
	o := about(highest(e.Checkpoints), "", Duplicate, "")
	for _, id := range e.Checkpoints {
		c := s.checkpoints[id]
		switch {
		case c == nil:
		case c.sum.Phase != PhaseFailed && c.sum.Phase != PhaseRetired:
			o.Why = "one of them is live or kept, and stays"
		default:
			s.waste = remove(s.waste, c)
			delete(s.checkpoints, id)
			s.stats.Discarded++
			o.Kind = Applied
		}
	}
	if o.Kind != Applied && o.Why != "" {
		o.Kind = Refused
	}
	return o
}

// pinned lists the restore points that tasks have been given and not loaded yet.
func (s *State) pinned() []events.CheckpointID {
	var ids []events.CheckpointID
	for _, t := range s.tasks {
		if t.sum.Pinned && !slices.Contains(ids, t.sum.Restore) {
			ids = append(ids, t.sum.Restore)
		}
	}
	return ids
}
