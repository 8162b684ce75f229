package events

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

func (e *TaskAcked) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "epoch":
		readNumber(s, &e.Epoch)
	case "handle":
		e.Handle = StateHandle{}
		readObject(s, &e.Handle)
	case "joining_event":
		readText(s, &e.JoiningEvent)
	case "measures":
		e.Measures = Measures{}
		readObject(s, &e.Measures)
	default:
		return false
	}
	return true
}

func (e *TaskAcked) fields(b []byte) []byte {
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendText(b, "task", e.Task)
	b = appendCount(b, "attempt", e.Attempt)
	b = appendNumber(b, "epoch", e.Epoch)
	if !e.Handle.IsZero() {
		b = e.Handle.encode(appendName(b, "handle"))
	}
	b = appendText(b, "joining_event", e.JoiningEvent)
	if !e.Measures.IsZero() {
		b = e.Measures.encode(appendName(b, "measures"))
	}
	return b
}

func (e *TaskAcked) validate() error {
	return firstOf(
		checkAnswer(e.Checkpoint, e.Task, e.Attempt, e.Epoch),
		e.Handle.validate(),
		e.Measures.Unknown.check(levelField),
	)
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

func (e *TaskDeclined) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "checkpoint":
		readCheckpoint(s, &e.Checkpoint)
	case "task":
		readText(s, &e.Task)
	case "attempt":
		readNumber(s, &e.Attempt)
	case "epoch":
		readNumber(s, &e.Epoch)
	case "reason":
		readWord(s, DeclineReasons(), &e.Reason)
	case "text":
		readText(s, &e.Text)
	default:
		return false
	}
	return true
}

func (e *TaskDeclined) fields(b []byte) []byte {
	b = appendNumber(b, "checkpoint", e.Checkpoint)
	b = appendText(b, "task", e.Task)
	b = appendCount(b, "attempt", e.Attempt)
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendText(b, "reason", e.Reason)
	return appendText(b, "text", e.Text)
}

func (e *TaskDeclined) validate() error {
	return firstOf(
		checkAnswer(e.Checkpoint, e.Task, e.Attempt, e.Epoch),
		checkWord("reason", e.Reason, DeclineReasons()),
	)
}

func checkAnswer(id CheckpointID, task TaskID, attempt Attempt, epoch Epoch) error {
	return firstOf(
		checkCheckpoint(id),
		checkName("task", string(task)),
		checkLeast("attempt", attempt, 0),
		checkEpoch(epoch),
	)
}
