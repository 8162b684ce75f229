package projection

import "github.com/tidemark-stream/tidemark/events"

// taskAcked counts an ack once, if the checkpoint waits for it.
func (s *State) taskAcked(at stamp, e *events.TaskAcked) Outcome {
	c, i, o := s.addressed(e.Checkpoint, e.Task, e.Attempt, e.Epoch)
	if o.Kind != Applied {
		return o
	}
	switch {
	case i >= 0 && c.slots[i].declined:
		o.Kind = AlreadyDeclined
		return o
	case c.sum.JoiningEvent != "" && c.sum.JoiningEvent != e.JoiningEvent:
		o.Kind = WrongJoiningEvent
		return o
	case i >= 0 && c.slots[i].ack != nil:
		o.Kind = Duplicate
		return o
	case c.sum.Phase != PhasePending || i < 0 && c.sum.Acked >= c.sum.Required:
		o.Kind, o.Why = Late, "all acks are in"
		return o
	case i < 0:
		i = c.add(e.Task)
	}
	s.stats.Acked++
	if c.fill(i, slot{ack: e, at: at}) {
		o.Kind = Completing
	}
	return o
}

// taskDeclined dooms a pending checkpoint. The first decline is kept.
func (s *State) taskDeclined(at stamp, e *events.TaskDeclined) Outcome {
	c, i, o := s.addressed(e.Checkpoint, e.Task, e.Attempt, e.Epoch)
	if o.Kind != Applied {
		return o
	}
	switch {
	case c.sum.Phase != PhasePending:
		o.Kind, o.Why = Late, "all acks are in"
		return o
	case i >= 0 && c.slots[i].declined, c.byCount() && c.sum.Decline.Task != "":
		o.Kind = Duplicate
		return o
	case i < 0:
		i = c.add(e.Task)
	}
	c.slots[i].declined = true
	s.stats.Declined++
	if c.sum.Decline.Task == "" {
		c.sum.Decline = Decline{Task: e.Task, Attempt: e.Attempt, Reason: e.Reason, Text: clip(e.Text), Position: at.pos}
	}
	return o
}

// addressed finds the live checkpoint and slot that an answer is for, or says why there is none. The slot is -1 for a
// new name in a checkpoint by count.
func (s *State) addressed(id events.CheckpointID, task events.TaskID, attempt events.Attempt, epoch events.Epoch) (
	*checkpoint, int, Outcome,
) {
	o := Outcome{Kind: Applied, Checkpoint: id, Task: task, Attempt: attempt}
	c := s.checkpoints[id]
	if c == nil || c.sum.Phase.Terminal() {
		s.seeEpoch(epoch)
		s.see(id, false)
		o.Kind = UnknownCheckpoint
		if c != nil || s.history.knows(id) {
			o.Kind = Late
		}
		return nil, -1, o
	}
	if epoch != c.sum.Epoch {
		s.seeEpoch(epoch)
		o.Kind = StaleEpoch
		return nil, -1, o
	}
	i := c.find(task, s.index)
	switch {
	case c.byCount():
	case i < 0:
		o.Kind = ForeignTask
	case c.required[i].Attempt != attempt:
		o.Kind = StaleAttempt
	}
	return c, i, o
}
