package events

// Kind names what an event says. The set is closed: an entry of another kind is quarantined.
type Kind string

// The kinds of version 1.
const (
	KindCoordinatorStarted   Kind = "coordinator_started"
	KindCheckpointRequested  Kind = "checkpoint_requested"
	KindAbortRequested       Kind = "abort_requested"
	KindWithdrawalRequested  Kind = "withdrawal_requested"
	KindRequestRefused       Kind = "request_refused"
	KindCheckpointTriggered  Kind = "checkpoint_triggered"
	KindTaskRegistered       Kind = "task_registered"
	KindTaskRestored         Kind = "task_restored"
	KindTaskRestoreFailed    Kind = "task_restore_failed"
	KindTaskFinished         Kind = "task_finished"
	KindTaskLeft             Kind = "task_left"
	KindTaskLost             Kind = "task_lost"
	KindTaskAcked            Kind = "task_acked"
	KindTaskDeclined         Kind = "task_declined"
	KindCheckpointCompleted  Kind = "checkpoint_completed"
	KindCheckpointFailed     Kind = "checkpoint_failed"
	KindCheckpointsRetired   Kind = "checkpoints_retired"
	KindCheckpointsWithdrawn Kind = "checkpoints_withdrawn"
	KindStateDiscarded       Kind = "state_discarded"
	KindLogTrimmed           Kind = "log_trimmed"
	KindLogGapFound          Kind = "log_gap_found"
)

// Kinds lists every kind of version 1.
func Kinds() []Kind {
	return []Kind{
		KindCoordinatorStarted, KindCheckpointRequested, KindAbortRequested, KindWithdrawalRequested, KindRequestRefused,
		KindCheckpointTriggered, KindTaskRegistered, KindTaskRestored, KindTaskRestoreFailed, KindTaskFinished, KindTaskLeft, KindTaskLost,
		KindTaskAcked, KindTaskDeclined, KindCheckpointCompleted, KindCheckpointFailed, KindCheckpointsRetired,
		KindCheckpointsWithdrawn, KindStateDiscarded, KindLogTrimmed, KindLogGapFound,
	}
}

func (k Kind) String() string { return string(k) }

// Event is one fact of the log. The implementations are the pointer types of this package, one for each [Kind], and no
// others: a switch over them is total.
//
//sumtype:decl
type Event interface {
	// Kind says which event this is.
	Kind() Kind
	// validate reports the first field that a writer must not leave out or that has an impossible value.
	validate() error
	// fields writes the members behind b, in their documented order.
	fields(b []byte) []byte
	object
}

// newEvent returns an empty event of the kind with its optional checkpoint ids absent, or nil for an unknown kind.
func newEvent(k []byte) Event { //nolint:funlen // one total switch
	switch Kind(k) {
	case KindCoordinatorStarted:
		return &CoordinatorStarted{}
	case KindCheckpointRequested:
		return &CheckpointRequested{}
	case KindAbortRequested:
		return &AbortRequested{UpTo: NoCheckpoint}
	case KindWithdrawalRequested:
		return &WithdrawalRequested{Checkpoint: NoCheckpoint}
	case KindRequestRefused:
		return &RequestRefused{}
	case KindCheckpointTriggered:
		return &CheckpointTriggered{Checkpoint: NoCheckpoint}
	case KindTaskRegistered:
		return &TaskRegistered{}
	case KindTaskRestored:
		return &TaskRestored{Checkpoint: NoCheckpoint}
	case KindTaskRestoreFailed:
		return &TaskRestoreFailed{Checkpoint: NoCheckpoint}
	case KindTaskFinished:
		return &TaskFinished{Checkpoint: NoCheckpoint}
	case KindTaskLeft:
		return &TaskLeft{}
	case KindTaskLost:
		return &TaskLost{}
	case KindTaskAcked:
		return &TaskAcked{Checkpoint: NoCheckpoint}
	case KindTaskDeclined:
		return &TaskDeclined{Checkpoint: NoCheckpoint}
	case KindCheckpointCompleted:
		return &CheckpointCompleted{Checkpoint: NoCheckpoint}
	case KindCheckpointFailed:
		return &CheckpointFailed{Checkpoint: NoCheckpoint}
	case KindCheckpointsRetired:
		return &CheckpointsRetired{}
	case KindCheckpointsWithdrawn:
		return &CheckpointsWithdrawn{}
	case KindStateDiscarded:
		return &StateDiscarded{}
	case KindLogTrimmed:
		return &LogTrimmed{}
	case KindLogGapFound:
		return &LogGapFound{}
	}
	return nil
}
