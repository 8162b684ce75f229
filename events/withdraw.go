package events

// WithdrawalRequested asks the coordinator to withdraw a completed checkpoint that cannot be restored, so that an older one
// becomes the restore point. Anyone may append it. The answer is a [CheckpointsWithdrawn] that names the request, or a
// [RequestRefused].
type WithdrawalRequested struct {
	Request    RequestID
	Checkpoint CheckpointID
	// Forced asks for it whether or not the checkpoint can be read.
	Forced bool
	// ToNothing allows that no checkpoint is left: tasks then start from nothing.
	ToNothing bool
	// Cause and By are for the reader: why, and who asked.
	Cause   string
	By      string
	Unknown Unknown
}

// Kind implements [Event].
func (*WithdrawalRequested) Kind() Kind { return KindWithdrawalRequested }

func (e *WithdrawalRequested) unknown() *Unknown { return &e.Unknown }

func (e *WithdrawalRequested) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "request":
		readText(s, &e.Request)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "forced":
		readFlag(s, &e.Forced)
	case "to_nothing":
		readFlag(s, &e.ToNothing)
	case "cause":
		readText(s, &e.Cause)
	case "by":
		readText(s, &e.By)
	default:
		return false
	}
	return true
}

func (e *WithdrawalRequested) fields(b []byte) []byte {
	b = appendText(b, "request", e.Request)
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendFlag(b, "forced", e.Forced)
	b = appendFlag(b, "to_nothing", e.ToNothing)
	b = appendText(b, "cause", e.Cause)
	return appendText(b, "by", e.By)
}

func (e *WithdrawalRequested) validate() error {
	return firstOf(checkName("request", string(e.Request)), checkCheckpoint(e.Checkpoint))
}

// CheckpointsWithdrawn says that completed checkpoints cannot be restored and are restore points no more. What they were
// stays true: they did complete. Tasks that were to restore one of them restore the newest that is left.
type CheckpointsWithdrawn struct {
	Epoch       Epoch
	Checkpoints []CheckpointID
	Why         string
	// Request is the one that it answers; empty when the coordinator has decided by itself.
	Request RequestID
	// ToNothing allows that no completed checkpoint is left. Without it such a withdrawal does not count.
	ToNothing bool
	Unknown   Unknown
}

// Kind implements [Event].
func (*CheckpointsWithdrawn) Kind() Kind { return KindCheckpointsWithdrawn }

func (e *CheckpointsWithdrawn) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointsWithdrawn) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "request":
		readText(s, &e.Request)
	case "to_nothing":
		readFlag(s, &e.ToNothing)
	default:
		return setCheckpoints(name, s, &e.Epoch, &e.Checkpoints, &e.Why)
	}
	return true
}

func (e *CheckpointsWithdrawn) fields(b []byte) []byte {
	b = appendCheckpoints(b, e.Epoch, e.Checkpoints, e.Why)
	b = appendText(b, "request", e.Request)
	return appendFlag(b, "to_nothing", e.ToNothing)
}

func (e *CheckpointsWithdrawn) validate() error {
	return firstOf(checkCheckpoints(e.Epoch, e.Checkpoints), checkOptional("request", string(e.Request)))
}
