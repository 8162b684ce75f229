package projection

import "github.com/tidemark-stream/tidemark/events"

// stamp is where and when an event stands: its position, and its own timestamp.
type stamp struct {
	pos events.Position
	at  int64
}

// Apply folds one event in and says what came of it. It is the only way in which the state changes. Positions must rise; an
// event at or before [State.Position] is Replayed and changes nothing. Whatever is in the event, Apply does not panic.
//
// The state keeps references to what is in the event: it must not be changed afterwards. A duplicate or refused ack
// allocates nothing.
func (s *State) Apply(pos events.Position, e events.Envelope) Outcome {
	if !pos.After(s.position) {
		return plain(Replayed, "")
	}
	s.position = pos
	s.ended = s.ended[:0]
	if e.Job != "" && s.job != "" && e.Job != s.job {
		s.stats.count(e.Event, ForeignJob)
		return plain(ForeignJob, "the event belongs to another job")
	}
	o := s.apply(stamp{pos: pos, at: e.At}, e.Event)
	o.Ended = len(s.ended)
	s.stats.count(e.Event, o.Kind)
	return o
}

// Skip moves the position over an entry that could not be decoded, and counts it. It reports whether the position rose.
func (s *State) Skip(pos events.Position) bool {
	if !pos.After(s.position) {
		return false
	}
	s.position = pos
	s.ended = s.ended[:0]
	s.stats.Quarantined++
	return true
}

// apply is the total switch over the events.
func (s *State) apply(at stamp, event events.Event) Outcome { //nolint:funlen // one total switch
	switch e := event.(type) {
	case *events.TaskAcked:
		return s.taskAcked(at, e)
	case *events.TaskDeclined:
		return s.taskDeclined(at, e)
	case *events.TaskRegistered:
		return s.taskRegistered(at, e)
	case *events.TaskRestored:
		return s.taskRestored(e)
	case *events.TaskRestoreFailed:
		return s.taskRestoreFailed(at, e)
	case *events.TaskLeft:
		return s.taskLeft(at, e)
	case *events.TaskFinished:
		return s.taskFinished(at, e)
	case *events.CheckpointRequested:
		return s.checkpointRequested(at, e)
	case *events.AbortRequested:
		return s.abortRequested(at, e)
	case *events.WithdrawalRequested:
		return s.withdrawalRequested(at, e)
	case *events.CoordinatorStarted:
		return s.coordinatorStarted(at, e)
	case *events.RequestRefused:
		return s.fenced(e.Epoch, events.NoCheckpoint, func() Outcome { return s.requestRefused(e) })
	case *events.CheckpointTriggered:
		return s.fenced(e.Epoch, e.Checkpoint, func() Outcome { return s.checkpointTriggered(at, e) })
	case *events.CheckpointCompleted:
		return s.fenced(e.Epoch, e.Checkpoint, func() Outcome { return s.checkpointCompleted(at, e) })
	case *events.CheckpointFailed:
		return s.fenced(e.Epoch, e.Checkpoint, func() Outcome { return s.checkpointFailed(at, e) })
	case *events.CheckpointsRetired:
		return s.fenced(e.Epoch, highest(e.Checkpoints), func() Outcome { return s.checkpointsRetired(e) })
	case *events.CheckpointsWithdrawn:
		return s.fenced(e.Epoch, highest(e.Checkpoints), func() Outcome { return s.checkpointsWithdrawn(e) })
	case *events.StateDiscarded:
		return s.fenced(e.Epoch, highest(e.Checkpoints), func() Outcome { return s.stateDiscarded(e) })
	case *events.TaskLost:
		return s.fenced(e.Epoch, events.NoCheckpoint, func() Outcome { return s.taskLost(at, e) })
	case *events.LogTrimmed:
		return s.fenced(e.Epoch, events.NoCheckpoint, func() Outcome { return s.logTrimmed(e) })
	case *events.LogGapFound:
		return s.fenced(e.Epoch, events.NoCheckpoint, func() Outcome { return s.logGapFound(e) })
	}
	return plain(Refused, "no event in the envelope")
}

func highest(ids []events.CheckpointID) events.CheckpointID {
	top := events.NoCheckpoint
	for _, id := range ids {
		top = max(top, id)
	}
	return top
}
