package projection

import "github.com/tidemark-stream/tidemark/events"

// OutcomeKind tells what the fold made of one event. The set is closed. Everything except [Applied] and [Completing] leaves
// the state as it was, but for its position and its counters.
type OutcomeKind uint8

// The kinds of outcomes.
const (
	// Applied: the event changed the state as it says.
	Applied OutcomeKind = iota
	// Completing: this was the last ack that was needed; the checkpoint is now finalizing.
	Completing
	// Duplicate: the same fact was folded before (an ack by checkpoint, task and attempt; a registration by instance;
	// a request by its id; a verdict by its checkpoint and reason).
	Duplicate
	// Replayed: the position is not after the state's; nothing at all was changed.
	Replayed
	// Late: the checkpoint has ended, or is so old that the fold has forgotten how, or all its acks are in.
	Late
	// UnknownCheckpoint: no checkpoint of that id was ever triggered.
	UnknownCheckpoint
	// ForeignTask: the task is not expected, not required by this checkpoint, or never registered.
	ForeignTask
	// StaleAttempt: not the attempt that is required, or not the current one.
	StaleAttempt
	// StaleEpoch: an answer addressed to another coordinator than the one that triggered.
	StaleEpoch
	// WrongJoiningEvent: the checkpoint counts only acks that name its joining event.
	WrongJoiningEvent
	// AlreadyDeclined: an ack of a task that has declined this checkpoint.
	AlreadyDeclined
	// ForeignJob: the event says that it belongs to another job.
	ForeignJob
	// Fenced: a coordinator's event of an epoch or instance that is not in force.
	Fenced
	// Refused: the event breaks a rule of the protocol; Why names it. The entry belongs into quarantine.
	Refused

	outcomeKinds = int(Refused) + 1
)

// OutcomeKinds lists the closed set.
func OutcomeKinds() []OutcomeKind {
	kinds := make([]OutcomeKind, outcomeKinds)
	for i := range kinds {
		kinds[i] = OutcomeKind(i)
	}
	return kinds
}

// String is the kind in words as logs and metrics show it: lower case, underscores.
func (k OutcomeKind) String() string {
	switch k {
	case Applied:
		return "applied"
	case Completing:
		return "completing"
	case Duplicate:
		return "duplicate"
	case Replayed:
		return "replayed"
	case Late:
		return "late"
	case UnknownCheckpoint:
		return "unknown_checkpoint"
	case ForeignTask:
		return "foreign_task"
	case StaleAttempt:
		return "stale_attempt"
	case StaleEpoch:
		return "stale_epoch"
	case WrongJoiningEvent:
		return "wrong_joining_event"
	case AlreadyDeclined:
		return "already_declined"
	case ForeignJob:
		return "foreign_job"
	case Fenced:
		return "fenced"
	case Refused:
		return "refused"
	}
	return "invalid"
}

// Outcome is what [State.Apply] made of one event. It is a plain value; making it allocates nothing.
type Outcome struct {
	Kind OutcomeKind
	// Checkpoint is the one that the event is about; NoCheckpoint if none.
	Checkpoint events.CheckpointID
	// Task is the one that the event is about; empty if none.
	Task events.TaskID
	// Attempt is the one that a registration was given (also when it is a Duplicate of the current one), or the task's
	// current one; 0 if none.
	Attempt events.Attempt
	// Ended is how many checkpoints this event ended, well or badly; [State.Ended] names them.
	Ended int
	// Why says in a few fixed words which rule spoke, for a person; empty when Kind says it all.
	Why string
}

// Changed reports whether the event changed more than position and counters.
func (o Outcome) Changed() bool { return o.Kind == Applied || o.Kind == Completing }

func about(id events.CheckpointID, task events.TaskID, kind OutcomeKind, why string) Outcome {
	return Outcome{Kind: kind, Checkpoint: id, Task: task, Why: why}
}

func plain(kind OutcomeKind, why string) Outcome {
	return Outcome{Kind: kind, Checkpoint: events.NoCheckpoint, Why: why}
}
