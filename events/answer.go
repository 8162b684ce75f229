package events

import "fmt"

// TaskAcked is a task's yes: its part of the checkpoint has landed, every chunk of the handle is stored.
type TaskAcked struct {
	Checkpoint CheckpointID
	Task       TaskID
	// Attempt is the run that acks; 0 where tasks do not register (checkpoints by count).
	Attempt Attempt
	// Epoch is the coordinator that asked: an ack of another epoch never counts.
	Epoch Epoch
	// Handle is what a restore needs.
	Handle StateHandle
	// JoiningEvent names the event under which the state was stored.
	JoiningEvent string
	Measures     Measures
	Unknown      Unknown
}

// Kind implements [Event].
func (*TaskAcked) Kind() Kind { return KindTaskAcked }

func (e *TaskAcked) unknown() *Unknown { return &e.Unknown }

func (e *TaskAcked) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	case "task":
		return true, readName(v, "task", &e.Task)
	case "attempt":
		return true, readNumber(v, 0, &e.Attempt)
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "handle":
		return true, decodeObject(v, e.Handle.set, &e.Handle.Unknown)
	case "joining_event":
		return true, readText(v, &e.JoiningEvent)
	case "measures":
		return true, decodeObject(v, e.Measures.set, &e.Measures.Unknown)
	}
	return false, nil
}

func (e *TaskAcked) fields(w *writer) {
	w.number("checkpoint", int64(e.Checkpoint))
	w.text("task", string(e.Task))
	w.count("attempt", int64(e.Attempt))
	w.number("epoch", int64(e.Epoch))
	if !e.Handle.IsZero() {
		w.name("handle")
		w.b = e.Handle.encode(w.b)
	}
	w.text("joining_event", e.JoiningEvent)
	if !e.Measures.IsZero() {
		w.name("measures")
		w.b = e.Measures.encode(w.b)
	}
}

func (e *TaskAcked) validate() error {
	if err := checkAnswer(e.Checkpoint, e.Task, e.Epoch); err != nil {
		return err
	}
	return e.Handle.validate()
}

// DeclineReason tells why a task cannot take part. The set is closed.
type DeclineReason string

// The reasons of a decline.
const (
	DeclinedCutFailed     DeclineReason = "cut_failed"     // the state could not be cut
	DeclinedEncodeFailed  DeclineReason = "encode_failed"  // the cut could not be serialised
	DeclinedUploadFailed  DeclineReason = "upload_failed"  // a chunk could not be stored
	DeclinedLimitExceeded DeclineReason = "limit_exceeded" // a size or time limit of the worker
	DeclinedNotReady      DeclineReason = "not_ready"      // not restored yet
	DeclinedClosing       DeclineReason = "closing"        // the worker is shutting down
	DeclinedOther         DeclineReason = "other"          // see the text
)

// DeclineReasons lists the closed set.
func DeclineReasons() []DeclineReason {
	return []DeclineReason{
		DeclinedCutFailed, DeclinedEncodeFailed, DeclinedUploadFailed, DeclinedLimitExceeded, DeclinedNotReady,
		DeclinedClosing, DeclinedOther,
	}
}

// TaskDeclined is a task's no. It fails the checkpoint at once.
type TaskDeclined struct {
	Checkpoint CheckpointID
	Task       TaskID
	Attempt    Attempt
	Epoch      Epoch
	Reason     DeclineReason
	// Text is the cause in words, for a person.
	Text    string
	Unknown Unknown
}

// Kind implements [Event].
func (*TaskDeclined) Kind() Kind { return KindTaskDeclined }

func (e *TaskDeclined) unknown() *Unknown { return &e.Unknown }

func (e *TaskDeclined) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	case "task":
		return true, readName(v, "task", &e.Task)
	case "attempt":
		return true, readNumber(v, 0, &e.Attempt)
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "reason":
		return true, readReason(v, DeclineReasons(), &e.Reason)
	case "text":
		return true, readText(v, &e.Text)
	}
	return false, nil
}

func (e *TaskDeclined) fields(w *writer) {
	w.number("checkpoint", int64(e.Checkpoint))
	w.text("task", string(e.Task))
	w.count("attempt", int64(e.Attempt))
	w.number("epoch", int64(e.Epoch))
	w.text("reason", string(e.Reason))
	w.text("text", e.Text)
}

func (e *TaskDeclined) validate() error {
	if err := checkReason(e.Reason, DeclineReasons()); err != nil {
		return fmt.Errorf("field reason: %w", err)
	}
	return checkAnswer(e.Checkpoint, e.Task, e.Epoch)
}

func checkAnswer(id CheckpointID, task TaskID, epoch Epoch) error {
	if err := checkCheckpoint(id); err != nil {
		return err
	}
	if err := checkName("task", string(task), maxNameLen); err != nil {
		return err
	}
	return checkEpoch(epoch)
}
