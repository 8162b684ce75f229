package events

import "errors"

// TaskRegistered says that a process has taken up a task. The fold gives it the next attempt and its restore point, and
// voids all messages of older attempts.
type TaskRegistered struct {
	Task TaskID
	// Instance is unique per process start: a repeated registration of one instance is one registration.
	Instance InstanceID
	// Host and PID say where it runs, for the reader.
	Host    string
	PID     int64
	Unknown Unknown
}

// Kind implements [Event].
func (*TaskRegistered) Kind() Kind { return KindTaskRegistered }

func (e *TaskRegistered) unknown() *Unknown { return &e.Unknown }

func (e *TaskRegistered) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "task":
		readText(s, &e.Task)
	case "instance":
		readText(s, &e.Instance)
	case "host":
		readText(s, &e.Host)
	case "pid":
		readNumber(s, &e.PID)
	default:
		return false
	}
	return true
}

func (e *TaskRegistered) fields(b []byte) []byte {
	b = appendText(b, "task", e.Task)
	b = appendText(b, "instance", e.Instance)
	b = appendText(b, "host", e.Host)
	return appendCount(b, "pid", e.PID)
}

func (e *TaskRegistered) validate() error {
	return firstOf(
		checkName("task", string(e.Task)),
		checkName("instance", string(e.Instance)),
		checkLeast("pid", e.PID, 0),
	)
}

// TaskRestored says that the attempt has loaded its restore point (or starts empty) and processes records.
type TaskRestored struct {
	Task    TaskID
	Attempt Attempt
	// Checkpoint is what it restored; [NoCheckpoint] when it started empty.
	Checkpoint CheckpointID
	Unknown    Unknown
}

// Kind implements [Event].
func (*TaskRestored) Kind() Kind { return KindTaskRestored }

func (e *TaskRestored) unknown() *Unknown { return &e.Unknown }

func (e *TaskRestored) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	default:
		return false
	}
	return true
}

func (e *TaskRestored) fields(b []byte) []byte {
	return appendTask(b, e.Task, e.Attempt, e.Checkpoint)
}

func (e *TaskRestored) validate() error { return checkTask(e.Task, e.Attempt) }

// TaskFinished says that the attempt has read its whole input and that a completed checkpoint holds its end state.
// Its last handle stays in later checkpoints, and no further ack of it is needed.
type TaskFinished struct {
	Task    TaskID
	Attempt Attempt
	// Checkpoint is the completed checkpoint that holds the end state.
	Checkpoint CheckpointID
	Unknown    Unknown
}

// Kind implements [Event].
func (*TaskFinished) Kind() Kind { return KindTaskFinished }

func (e *TaskFinished) unknown() *Unknown { return &e.Unknown }

func (e *TaskFinished) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	default:
		return false
	}
	return true
}

func (e *TaskFinished) fields(b []byte) []byte {
	return appendTask(b, e.Task, e.Attempt, e.Checkpoint)
}

func (e *TaskFinished) validate() error {
	return firstOf(checkTask(e.Task, e.Attempt), checkCheckpoint(e.Checkpoint))
}

// TaskLost says that the coordinator has seen no sign of life of an attempt for longer than its presence lives.
type TaskLost struct {
	Epoch   Epoch
	Task    TaskID
	Attempt Attempt
	// Text says what was seen, for a person.
	Text    string
	Unknown Unknown
}

// Kind implements [Event].
func (*TaskLost) Kind() Kind { return KindTaskLost }

func (e *TaskLost) unknown() *Unknown { return &e.Unknown }

func (e *TaskLost) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "text":
		readText(s, &e.Text)
	default:
		return false
	}
	return true
}

func (e *TaskLost) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendText(b, "task", e.Task)
	b = appendNumber(b, "attempt", e.Attempt)
	return appendText(b, "text", e.Text)
}

func (e *TaskLost) validate() error {
	return firstOf(checkEpoch(e.Epoch), checkTask(e.Task, e.Attempt))
}

func appendTask(b []byte, task TaskID, attempt Attempt, id CheckpointID) []byte {
	b = appendText(b, "task", task)
	b = appendNumber(b, "attempt", attempt)
	return appendCheckpoint(b, "checkpoint", id)
}

func checkTask(task TaskID, attempt Attempt) error {
	if attempt < 1 {
		return errors.New("field attempt is missing")
	}
	return checkName("task", string(task))
}
