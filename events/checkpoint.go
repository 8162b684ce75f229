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

func (t *TaskAttempt) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "task":
		return true, readName(v, "task", &t.Task)
	case "attempt":
		return true, readNumber(v, 1, &t.Attempt)
	}
	return false, nil
}

func (t *TaskAttempt) encode(b []byte) []byte {
	w := openObject(b)
	w.text("task", string(t.Task))
	w.number("attempt", int64(t.Attempt))
	return w.close(t.Unknown)
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

func (e *CheckpointTriggered) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	case "type":
		return true, readReason(v, checkpointTypes(), &e.Type)
	case "request":
		return true, readName(v, "request", &e.Request)
	case "cause":
		return true, readText(v, &e.Cause)
	case "tasks":
		return true, e.setTasks(v)
	case "count":
		return true, readNumber(v, 0, &e.Count)
	case "timeout_ms":
		return true, readNumber(v, minInt64, &e.Timeout)
	case "joining_event":
		return true, readText(v, &e.JoiningEvent)
	}
	return false, nil
}

func (e *CheckpointTriggered) setTasks(v value) error {
	e.Tasks = nil
	return readList(v, func(v value) error {
		var t TaskAttempt
		if err := decodeObject(v, t.set, &t.Unknown); err != nil {
			return err
		}
		e.Tasks = append(e.Tasks, t)
		return nil
	})
}

func (e *CheckpointTriggered) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.number("checkpoint", int64(e.Checkpoint))
	w.text("type", string(e.Type))
	w.text("request", string(e.Request))
	w.text("cause", e.Cause)
	w.list("tasks", len(e.Tasks), func(b []byte, i int) []byte { return e.Tasks[i].encode(b) })
	w.count("count", e.Count)
	w.number("timeout_ms", e.Timeout)
	w.text("joining_event", e.JoiningEvent)
}

func (e *CheckpointTriggered) validate() error {
	if err := checkCheckpoint(e.Checkpoint); err != nil {
		return err
	}
	if err := checkReason(e.Type, checkpointTypes()); err != nil {
		return fmt.Errorf("field type: %w", err)
	}
	if (len(e.Tasks) > 0) == (e.Count > 0) {
		return errors.New("exactly one of tasks and count is needed")
	}
	for i, t := range e.Tasks {
		if t.Task == "" || t.Attempt < 1 {
			return fmt.Errorf("tasks[%d] misses its task or attempt", i)
		}
		if i > 0 && e.Tasks[i-1].Task >= t.Task {
			return fmt.Errorf("tasks[%d] %s is not in order or stands twice", i, t.Task)
		}
	}
	return checkEpoch(e.Epoch)
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

func (e *CheckpointCompleted) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	case "record_key":
		return true, readText(v, &e.RecordKey)
	case "bytes":
		return true, readNumber(v, 0, &e.Bytes)
	case "forced":
		return true, readFlag(v, &e.Forced)
	}
	return false, nil
}

func (e *CheckpointCompleted) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.number("checkpoint", int64(e.Checkpoint))
	w.text("record_key", e.RecordKey)
	w.number("bytes", e.Bytes)
	w.flag("forced", e.Forced)
}

func (e *CheckpointCompleted) validate() error {
	if err := checkCheckpoint(e.Checkpoint); err != nil {
		return err
	}
	return checkEpoch(e.Epoch)
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

func (e *CheckpointFailed) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	case "reason":
		return true, readReason(v, FailureReasons(), &e.Reason)
	case "missing":
		return true, readNames(v, "task", &e.Missing)
	case "text":
		return true, readText(v, &e.Text)
	}
	return false, nil
}

func (e *CheckpointFailed) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.number("checkpoint", int64(e.Checkpoint))
	w.text("reason", string(e.Reason))
	w.list("missing", len(e.Missing), func(b []byte, i int) []byte { return appendJSONString(b, string(e.Missing[i])) })
	w.text("text", e.Text)
}

func (e *CheckpointFailed) validate() error {
	if err := checkCheckpoint(e.Checkpoint); err != nil {
		return err
	}
	if err := checkReason(e.Reason, FailureReasons()); err != nil {
		return fmt.Errorf("field reason: %w", err)
	}
	return checkEpoch(e.Epoch)
}
