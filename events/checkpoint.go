package events

import (
	"errors"
	"fmt"
)

// TaskAttempt is one run of one task.
type TaskAttempt struct {
	Task    TaskID
	Attempt Attempt
	Unknown Unknown
}

func (t *TaskAttempt) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "task":
		readText(s, &t.Task)
	case "attempt":
		readNumber(s, &t.Attempt)
	default:
		return false
	}
	return true
}

func (t *TaskAttempt) encode(b []byte) []byte {
	b = append(b, '{')
	b = appendText(b, "task", t.Task)
	b = appendNumber(b, "attempt", t.Attempt)
	return appendEnd(b, t.Unknown)
}

func (t *TaskAttempt) unknown() *Unknown { return &t.Unknown }

func (t *TaskAttempt) validate() error {
	return firstOf(checkTask(t.Task, t.Attempt), t.Unknown.check(levelField+1))
}

// CheckpointTriggered makes a checkpoint pending. Its open record stood in the store before.
type CheckpointTriggered struct {
	Epoch      Epoch
	Checkpoint CheckpointID
	Type       CheckpointType
	// Request is the request that it answers; empty for a periodic one.
	Request RequestID
	Cause   string
	// Tasks are the attempts whose acks complete it, sorted by task. Empty when Count is set.
	Tasks []TaskAttempt
	// Count is the number of distinct tasks whose acks complete it, when the job has no fixed task set.
	Count int64
	// Timeout in milliseconds; 0 or less means never.
	Timeout int64
	// JoiningEvent, if not empty, must be named by every ack that counts.
	JoiningEvent string
	Unknown      Unknown
}

// Kind implements [Event].
func (*CheckpointTriggered) Kind() Kind { return KindCheckpointTriggered }

func (e *CheckpointTriggered) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointTriggered) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "type":
		readWord(s, checkpointTypes(), &e.Type)
	case "request":
		readText(s, &e.Request)
	case "cause":
		readText(s, &e.Cause)
	case "tasks":
		readList(s, &e.Tasks, readTaskAttempt)
	case "count":
		readNumber(s, &e.Count)
	case "timeout_ms":
		readNumber(s, &e.Timeout)
	case "joining_event":
		readText(s, &e.JoiningEvent)
	default:
		return false
	}
	return true
}

func readTaskAttempt(s *scanner, t *TaskAttempt) {
	if readObject(s, t); t.Task == "" {
		s.fail("task is empty")
	}
}

func (e *CheckpointTriggered) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendText(b, "type", e.Type)
	b = appendText(b, "request", e.Request)
	b = appendText(b, "cause", e.Cause)
	if len(e.Tasks) > 0 {
		b = append(appendName(b, "tasks"), '[')
		for i := range e.Tasks {
			b = e.Tasks[i].encode(appendComma(b))
		}
		b = append(b, ']')
	}
	b = appendCount(b, "count", e.Count)
	b = appendNumber(b, "timeout_ms", e.Timeout)
	b = appendText(b, "joining_event", e.JoiningEvent)
	return b
}

func (e *CheckpointTriggered) validate() error {
	if (len(e.Tasks) > 0) == (e.Count > 0) {
		return errors.New("exactly one of tasks and count is needed")
	}
	for i := range e.Tasks {
		if err := e.Tasks[i].validate(); err != nil {
			return fmt.Errorf("tasks[%d]: %w", i, err)
		}
		if i > 0 && e.Tasks[i-1].Task >= e.Tasks[i].Task {
			return fmt.Errorf("tasks[%d]: %s is not in order or stands twice", i, e.Tasks[i].Task)
		}
	}
	return firstOf(
		checkEpoch(e.Epoch),
		checkCheckpoint(e.Checkpoint),
		checkWord("type", e.Type, checkpointTypes()),
		checkOptional("request", string(e.Request)),
		checkLeast("count", e.Count, 0),
	)
}

// CheckpointCompleted is the verdict that ends a checkpoint well. The fold accepts it only when every required ack is in.
type CheckpointCompleted struct {
	Epoch      Epoch
	Checkpoint CheckpointID
	// RecordKey is where the record stands in the store, for the reader.
	RecordKey string
	// Bytes is the state of all tasks together, as stored.
	Bytes int64
	// Forced says that a person completed it, without all acks.
	Forced  bool
	Unknown Unknown
}

// Kind implements [Event].
func (*CheckpointCompleted) Kind() Kind { return KindCheckpointCompleted }

func (e *CheckpointCompleted) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointCompleted) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "record_key":
		readText(s, &e.RecordKey)
	case "bytes":
		readNumber(s, &e.Bytes)
	case "forced":
		readFlag(s, &e.Forced)
	default:
		return false
	}
	return true
}

func (e *CheckpointCompleted) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendText(b, "record_key", e.RecordKey)
	b = appendNumber(b, "bytes", e.Bytes)
	return appendFlag(b, "forced", e.Forced)
}

func (e *CheckpointCompleted) validate() error {
	return firstOf(checkEpoch(e.Epoch), checkCheckpoint(e.Checkpoint), checkLeast("bytes", e.Bytes, 0))
}

// FailureReason tells why a checkpoint failed. The set is closed.
type FailureReason string

// The reasons of a failure. Those marked "fold" come about in the fold, from another event, and need no
// [CheckpointFailed] of their own.
const (
	FailedDeclined           FailureReason = "declined"            // a task answered that it cannot
	FailedExpired            FailureReason = "expired"             // not all acks within the timeout
	FailedAborted            FailureReason = "aborted"             // somebody asked for it
	FailedSubsumed           FailureReason = "subsumed"            // fold: a later checkpoint completed first
	FailedTaskRestarted      FailureReason = "task_restarted"      // fold: a required attempt was replaced
	FailedTaskLost           FailureReason = "task_lost"           // a required attempt's presence lapsed
	FailedCoordinatorChanged FailureReason = "coordinator_changed" // fold: a new epoch began
	FailedStateMissing       FailureReason = "state_missing"       // an acked chunk is not in the store
	FailedFinalize           FailureReason = "finalize_failed"     // the store refused the completing write for good
	FailedShutdown           FailureReason = "shutdown"            // the coordinator stopped and did not wait longer
)

// FailureReasons lists the closed set.
func FailureReasons() []FailureReason {
	return []FailureReason{
		FailedDeclined, FailedExpired, FailedAborted, FailedSubsumed, FailedTaskRestarted, FailedTaskLost,
		FailedCoordinatorChanged, FailedStateMissing, FailedFinalize, FailedShutdown,
	}
}

// CheckpointFailed is the verdict that ends a checkpoint badly. It is final.
type CheckpointFailed struct {
	Epoch      Epoch
	Checkpoint CheckpointID
	Reason     FailureReason
	// Missing names the required tasks that had not acked, sorted.
	Missing []TaskID
	// Text is the cause in words, for a person.
	Text    string
	Unknown Unknown
}

// Kind implements [Event].
func (*CheckpointFailed) Kind() Kind { return KindCheckpointFailed }

func (e *CheckpointFailed) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointFailed) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "reason":
		readWord(s, FailureReasons(), &e.Reason)
	case "missing":
		readList(s, &e.Missing, readTaskName)
	case "text":
		readText(s, &e.Text)
	default:
		return false
	}
	return true
}

func (e *CheckpointFailed) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendText(b, "reason", e.Reason)
	b = appendTexts(b, "missing", e.Missing)
	return appendText(b, "text", e.Text)
}

func (e *CheckpointFailed) validate() error {
	for i, t := range e.Missing {
		if err := checkName("task", string(t)); err != nil {
			return fmt.Errorf("missing[%d]: %w", i, err)
		}
	}
	return firstOf(
		checkEpoch(e.Epoch),
		checkCheckpoint(e.Checkpoint),
		checkWord("reason", e.Reason, FailureReasons()),
	)
}
