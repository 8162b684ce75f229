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

func (e *TaskRegistered) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "task":
		return true, readName(v, "task", &e.Task)
	case "instance":
		return true, readName(v, "instance", &e.Instance)
	case "host":
		return true, readText(v, &e.Host)
	case "pid":
		return true, readNumber(v, 0, &e.PID)
	}
	return false, nil
}

func (e *TaskRegistered) fields(w *writer) {
	w.text("task", string(e.Task))
	w.text("instance", string(e.Instance))
	w.text("host", e.Host)
	w.count("pid", e.PID)
}

func (e *TaskRegistered) validate() error {
	if err := checkName("task", string(e.Task), maxNameLen); err != nil {
		return err
	}
	return checkName("instance", string(e.Instance), maxNameLen)
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

func (e *TaskRestored) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "task":
		return true, readName(v, "task", &e.Task)
	case "attempt":
		return true, readNumber(v, 1, &e.Attempt)
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	}
	return false, nil
}

func (e *TaskRestored) fields(w *writer) { writeTask(w, e.Task, e.Attempt, e.Checkpoint) }

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

func (e *TaskFinished) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "task":
		return true, readName(v, "task", &e.Task)
	case "attempt":
		return true, readNumber(v, 1, &e.Attempt)
	case "checkpoint":
		return true, readNumber(v, 0, &e.Checkpoint)
	}
	return false, nil
}

func (e *TaskFinished) fields(w *writer) { writeTask(w, e.Task, e.Attempt, e.Checkpoint) }

func (e *TaskFinished) validate() error {
	if err := checkCheckpoint(e.Checkpoint); err != nil {
		return err
	}
	return checkTask(e.Task, e.Attempt)
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

func (e *TaskLost) set(name []byte, v value) (known bool, err error) {
	switch string(name) {
	case "epoch":
		return true, readNumber(v, 1, &e.Epoch)
	case "task":
		return true, readName(v, "task", &e.Task)
	case "attempt":
		return true, readNumber(v, 1, &e.Attempt)
	case "text":
		return true, readText(v, &e.Text)
	}
	return false, nil
}

func (e *TaskLost) fields(w *writer) {
	w.number("epoch", int64(e.Epoch))
	w.text("task", string(e.Task))
	w.number("attempt", int64(e.Attempt))
	w.text("text", e.Text)
}

func (e *TaskLost) validate() error {
	if err := checkTask(e.Task, e.Attempt); err != nil {
		return err
	}
	return checkEpoch(e.Epoch)
}

func writeTask(w *writer, task TaskID, attempt Attempt, id CheckpointID) {
	w.text("task", string(task))
	w.number("attempt", int64(attempt))
	w.checkpoint("checkpoint", id)
}

func checkTask(task TaskID, attempt Attempt) error {
	if attempt < 1 {
		return errors.New("field attempt is missing")
	}
	return checkName("task", string(task), maxNameLen)
}
