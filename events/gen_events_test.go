package events_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
)

// genEvent makes a valid event of the kind.
func genEvent(t *rapid.T, k events.Kind) events.Event {
	var (
		task       = genName[events.TaskID]().Draw(t, "task")
		instance   = genName[events.InstanceID]().Draw(t, "instance")
		request    = genName[events.RequestID]().Draw(t, "request")
		attempt    = genInt[events.Attempt](1).Draw(t, "attempt")
		epoch      = genInt[events.Epoch](1).Draw(t, "epoch")
		checkpoint = genInt[events.CheckpointID](0).Draw(t, "checkpoint")
		size       = genInt[int64](0).Draw(t, "size")
		text       = genText().Draw(t, "text")
		by         = genText().Draw(t, "by")
		u          = genUnknown().Draw(t, "unknown")
	)
	switch k {
	case events.KindCoordinatorStarted:
		return &events.CoordinatorStarted{Epoch: epoch, Instance: instance, Build: text, Policy: genPolicy().Draw(t, "policy"), Unknown: u}
	case events.KindCheckpointRequested:
		typ := rapid.SampledFrom([]events.CheckpointType{events.TypeCheckpoint, events.TypeSavepoint}).Draw(t, "type")
		joining := genText().Draw(t, "joining event")
		return &events.CheckpointRequested{Request: request, Type: typ, JoiningEvent: joining, Cause: text, By: by, Unknown: u}
	case events.KindAbortRequested:
		return &events.AbortRequested{Request: request, UpTo: checkpoint, Cause: text, By: by, Unknown: u}
	case events.KindWithdrawalRequested:
		return &events.WithdrawalRequested{
			Request: request, Checkpoint: checkpoint, Forced: rapid.Bool().Draw(t, "forced"),
			ToNothing: rapid.Bool().Draw(t, "to nothing"), Cause: text, By: by, Unknown: u,
		}
	case events.KindRequestRefused:
		reason := rapid.SampledFrom(events.RefusalReasons()).Draw(t, "reason")
		return &events.RequestRefused{Epoch: epoch, Request: request, Reason: reason, Remedy: text, Unknown: u}
	case events.KindCheckpointTriggered:
		return genTriggered(t)
	case events.KindTaskRegistered:
		return &events.TaskRegistered{Task: task, Instance: instance, Host: text, PID: size, Unknown: u}
	case events.KindTaskRestored:
		id := optional(rapid.Just(checkpoint), events.NoCheckpoint).Draw(t, "restored")
		return &events.TaskRestored{Task: task, Attempt: attempt, Checkpoint: id, Unknown: u}
	case events.KindTaskRestoreFailed:
		reason := rapid.SampledFrom(events.RestoreFailures()).Draw(t, "reason")
		return &events.TaskRestoreFailed{Task: task, Attempt: attempt, Checkpoint: checkpoint, Reason: reason, Text: text, Unknown: u}
	case events.KindTaskFinished:
		return &events.TaskFinished{Task: task, Attempt: attempt, Checkpoint: checkpoint, Unknown: u}
	case events.KindTaskLeft:
		return &events.TaskLeft{Task: task, Attempt: attempt, Text: text, Unknown: u}
	case events.KindTaskLost:
		return &events.TaskLost{Epoch: epoch, Task: task, Attempt: attempt, Text: text, Unknown: u}
	case events.KindTaskAcked:
		return &events.TaskAcked{
			Checkpoint: checkpoint, Task: task, Attempt: optional(rapid.Just(attempt), 0).Draw(t, "acked attempt"), Epoch: epoch,
			Handle: genHandle().Draw(t, "handle"), JoiningEvent: text, Measures: genMeasures().Draw(t, "measures"), Unknown: u,
		}
	case events.KindTaskDeclined:
		reason := rapid.SampledFrom(events.DeclineReasons()).Draw(t, "reason")
		return &events.TaskDeclined{Checkpoint: checkpoint, Task: task, Attempt: attempt, Epoch: epoch, Reason: reason, Text: text, Unknown: u}
	case events.KindCheckpointCompleted:
		forced := rapid.Bool().Draw(t, "forced")
		return &events.CheckpointCompleted{Epoch: epoch, Checkpoint: checkpoint, RecordKey: text, Bytes: size, Forced: forced, Unknown: u}
	case events.KindCheckpointFailed:
		reason := rapid.SampledFrom(events.FailureReasons()).Draw(t, "reason")
		return &events.CheckpointFailed{
			Epoch: epoch, Checkpoint: checkpoint, Reason: reason, Missing: genTasks(0).Draw(t, "missing"), Text: text, Unknown: u,
		}
	case events.KindCheckpointsRetired:
		return &events.CheckpointsRetired{Epoch: epoch, Checkpoints: genCheckpoints(t), Why: text, Unknown: u}
	case events.KindCheckpointsWithdrawn:
		return &events.CheckpointsWithdrawn{
			Epoch: epoch, Checkpoints: genCheckpoints(t), Why: text, Request: optional(rapid.Just(request), "").Draw(t, "answers"),
			ToNothing: rapid.Bool().Draw(t, "to nothing"), Unknown: u,
		}
	case events.KindStateDiscarded:
		return &events.StateDiscarded{Epoch: epoch, Checkpoints: genCheckpoints(t), Why: text, Unknown: u}
	case events.KindLogTrimmed:
		before := genPosition().Filter(func(p events.Position) bool { return !p.IsZero() }).Draw(t, "before")
		return &events.LogTrimmed{Epoch: epoch, Before: before, Archive: text, Unknown: u}
	case events.KindLogGapFound:
		cause := rapid.SampledFrom([]events.GapCause{events.GapTrimmed, events.GapDeleted, events.GapFailover}).Draw(t, "cause")
		after, before := genPosition().Draw(t, "after"), genPosition().Draw(t, "before")
		return &events.LogGapFound{Epoch: epoch, After: after, Before: before, Cause: cause, Unknown: u}
	}
	panic(fmt.Sprintf("no generator for %s", k))
}

func genCheckpoints(t *rapid.T) []events.CheckpointID {
	return listOf(genInt[events.CheckpointID](0), 1).Draw(t, "checkpoints")
}

func genEnvelope(k events.Kind) *rapid.Generator[events.Envelope] {
	return rapid.Custom(func(t *rapid.T) events.Envelope {
		return events.Envelope{
			ID:      genName[events.EventID]().Draw(t, "id"),
			Job:     optional(genName[events.JobID](), "").Draw(t, "job"),
			At:      genInt[int64](0).Draw(t, "at"),
			Event:   genEvent(t, k),
			Unknown: genUnknown().Draw(t, "unknown"),
		}
	})
}
