package events

// TaskLeft says that the attempt ends here, in order: its worker was told to stop. Another may register at once, and nobody
// need wait for signs of life.
type TaskLeft struct {
	Task    TaskID
	Attempt Attempt
	// Text says why, for a person.
	Text    string
	Unknown Unknown
}

// Kind implements [Event].
func (*TaskLeft) Kind() Kind { return KindTaskLeft }

func (e *TaskLeft) unknown() *Unknown { return &e.Unknown }

func (e *TaskLeft) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
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

func (e *TaskLeft) fields(b []byte) []byte {
	return appendText(appendTask(b, e.Task, e.Attempt, NoCheckpoint), "text", e.Text)
}

func (e *TaskLeft) validate() error { return checkTask(e.Task, e.Attempt) }
