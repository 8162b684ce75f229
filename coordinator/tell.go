package coordinator

import (
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// tell writes the story into our own log: a line for each change of a checkpoint or task, and for each event that did not
// count. Nothing is told while an old log is folded again: that story has been told.
func (l *loop) tell(entry eventlog.Entry, o projection.Outcome) {
	if !l.caught {
		return
	}
	if !o.Changed() {
		l.tellUncounted(entry, o)
		return
	}
	switch e := entry.Envelope.Event.(type) {
	case *events.CheckpointTriggered:
		l.log.Info().Stringer("checkpoint", e.Checkpoint).Str("type", string(e.Type)).Str("cause", e.Cause).
			Int("tasks", len(e.Tasks)).Msg("checkpoint pending")
	case *events.TaskAcked:
		l.log.Debug().Stringer("checkpoint", e.Checkpoint).Stringer("task", e.Task).Int64("bytes", e.Handle.Bytes()).Msg("task acked")
	case *events.TaskDeclined:
		l.log.Warn().Stringer("checkpoint", e.Checkpoint).Stringer("task", e.Task).Str("reason", string(e.Reason)).
			Str("cause", e.Text).Msg("Checkpoint declined by task")
	case *events.TaskRegistered:
		l.log.Info().Stringer("task", e.Task).Str("worker", e.Instance.String()).Int64("attempt", int64(o.Attempt)).
			Stringer("restore", o.Checkpoint).Msg("task registered")
	case *events.TaskRestored:
		l.log.Info().Stringer("task", e.Task).Int64("attempt", int64(e.Attempt)).Stringer("checkpoint", e.Checkpoint).Msg("task restored")
	case *events.TaskRestoreFailed:
		l.log.Warn().Stringer("task", e.Task).Int64("attempt", int64(e.Attempt)).Stringer("checkpoint", e.Checkpoint).
			Str("reason", string(e.Reason)).Str("cause", e.Text).Msg("task could not restore")
	case *events.TaskFinished:
		l.log.Info().Stringer("task", e.Task).Stringer("checkpoint", e.Checkpoint).Msg("task finished")
	case *events.TaskLeft:
		l.log.Info().Stringer("task", e.Task).Int64("attempt", int64(e.Attempt)).Str("cause", e.Text).Msg("task left")
	case *events.TaskLost:
		l.log.Warn().Stringer("task", e.Task).Int64("attempt", int64(e.Attempt)).Str("cause", e.Text).Msg("task lost")
	case *events.RequestRefused:
		l.log.Info().Stringer("request", e.Request).Str("reason", string(e.Reason)).Str("remedy", e.Remedy).Msg("request refused")
	case *events.CheckpointsRetired:
		l.log.Debug().Interface("checkpoints", e.Checkpoints).Str("why", e.Why).Msg("checkpoints retired")
	case *events.CheckpointsWithdrawn:
		l.log.Warn().Interface("checkpoints", e.Checkpoints).Stringer("latest", l.state.LatestCompleted()).Str("why", e.Why).
			Msg("checkpoints withdrawn: they cannot be restored")
	case *events.StateDiscarded:
		l.log.Debug().Interface("checkpoints", e.Checkpoints).Msg("state discarded")
	default: // told where they end something, or by those who asked
	}
	l.tellEnded()
}

// tellEnded names what the last event ended; pending -> failed names the tasks that have not acked.
func (l *loop) tellEnded() {
	for _, id := range l.state.Ended() {
		c, ok := l.state.Checkpoint(id)
		switch {
		case !ok:
		case c.Phase == projection.PhaseFailed:
			line := l.log.Warn().Stringer("checkpoint", id).Str("reason", string(c.Reason)).Int("acked", c.Acked).Int("required", c.Required)
			if len(c.Missing) > 0 {
				line = line.Str("not_acked", nameSome(c.Missing))
			}
			line.Str("cause", c.Text).Msg("checkpoint failed")
		default:
			l.log.Info().Stringer("checkpoint", id).Int64("ms", max(c.EndedAt-c.TriggeredAt, 0)).Int64("bytes", c.Bytes).
				Bool("forced", c.Forced).Msg("checkpoint completed")
		}
	}
}

func (l *loop) tellUncounted(entry eventlog.Entry, o projection.Outcome) {
	level := zerolog.InfoLevel
	switch o.Kind {
	case projection.Duplicate, projection.Replayed:
		level = zerolog.DebugLevel
	case projection.Refused, projection.Fenced, projection.ForeignJob:
		level = zerolog.WarnLevel
	default: // somebody was late, or early
	}
	line := l.log.WithLevel(level).Stringer("position", entry.Position).Str("kind", entry.Envelope.Kind().String()).
		Stringer("outcome", o.Kind)
	if !o.Checkpoint.IsZero() {
		line = line.Stringer("checkpoint", o.Checkpoint)
	}
	if o.Task != "" {
		line = line.Stringer("task", o.Task)
	}
	line.Str("why", o.Why).Msg("event did not count")
}
