package events

// RestoreFailure tells why a restore point cannot be put in place. The set is closed: it holds what the store can be asked
// about again. What is the worker's own (its schema, its files, its connection) is none of them.
type RestoreFailure string

// The reasons of a restore that failed.
const (
	RestoreChunkMissing  RestoreFailure = "chunk_missing"  // a piece of state is not in the store
	RestoreChunkCorrupt  RestoreFailure = "chunk_corrupt"  // the bytes of a piece are not what its digest promises
	RestoreRecordMissing RestoreFailure = "record_missing" // the store has no record of the checkpoint
	RestoreRecordCorrupt RestoreFailure = "record_corrupt" // the record cannot be read
)

// RestoreFailures lists the closed set.
func RestoreFailures() []RestoreFailure {
	return []RestoreFailure{RestoreChunkMissing, RestoreChunkCorrupt, RestoreRecordMissing, RestoreRecordCorrupt}
}

// TaskRestoreFailed says that the attempt is over: the store does not hold its restore point as it was written. The
// coordinator looks for itself before it does anything about it.
type TaskRestoreFailed struct {
	Task    TaskID
	Attempt Attempt
	// Checkpoint is the restore point.
	Checkpoint CheckpointID
	Reason     RestoreFailure
	// Text names what was missing or damaged, for a person.
	Text    string
	Unknown Unknown
}

// Kind implements [Event].
func (*TaskRestoreFailed) Kind() Kind { return KindTaskRestoreFailed }

func (e *TaskRestoreFailed) unknown() *Unknown { return &e.Unknown }

func (e *TaskRestoreFailed) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "reason":
		readWord(s, RestoreFailures(), &e.Reason)
	case "text":
		readText(s, &e.Text)
	default:
		return false
	}
	return true
}

func (e *TaskRestoreFailed) fields(b []byte) []byte {
	b = appendTask(b, e.Task, e.Attempt, e.Checkpoint)
	b = appendText(b, "reason", e.Reason)
	return appendText(b, "text", e.Text)
}

func (e *TaskRestoreFailed) validate() error {
	return firstOf(
		checkTask(e.Task, e.Attempt),
		checkCheckpoint(e.Checkpoint),
		checkWord("reason", e.Reason, RestoreFailures()),
	)
}
