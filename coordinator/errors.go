package coordinator

import (
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
)

// Errors of the verbs of [Coordinator].
var (
	// ErrClosed: the coordinator has stopped; every verb returns it from then on.
	ErrClosed = errors.New("coordinator is closed")
	// ErrNotLeading: Trigger, Complete, Cleanup or ExpirePending; another instance holds the lease, or this one has not yet read
	// back its own start, or lost it meanwhile. A request of Trigger that had been published stays in the log and is answered
	// by the next coordinator; a repetition under the same request id gets that answer.
	ErrNotLeading = errors.New("this coordinator does not lead")
	// ErrRefused: Trigger or Abort was refused; see [RefusedError] for the reason.
	ErrRefused = errors.New("request refused")
	// ErrNotPending: Complete names a checkpoint that this coordinator does not have pending.
	ErrNotPending = errors.New("checkpoint is not pending here")
	// ErrFailed: Wait of a checkpoint that ended badly; see [FailedError] for the reason.
	ErrFailed = errors.New("checkpoint failed")
	// ErrLost: Acknowledge or Decline; entries of the log were lost while it waited, so that it is not known whether this one
	// counts. It may be repeated.
	ErrLost = errors.New("entries of the log are lost")
	// ErrNotCompleted: Restore of a checkpoint that is still open; nothing was handed over.
	ErrNotCompleted = errors.New("checkpoint is not completed")
)

// RefusedError is the coordinator's no to a request, with what would make it pass.
type RefusedError struct {
	Request events.RequestID
	Reason  events.RefusalReason
	Remedy  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("request %s refused: %s: %s", e.Request, e.Reason, e.Remedy)
}

// Is makes errors.Is(err, ErrRefused) true.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// FailedError is the verdict of a checkpoint that failed.
type FailedError struct {
	Checkpoint events.CheckpointID
	Reason     events.FailureReason
	// Missing are the tasks that had not acked.
	Missing []events.TaskID
	Text    string
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("checkpoint %s failed: %s", e.Checkpoint, e.Reason)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if len(e.Missing) > 0 {
		s += fmt.Sprintf(" (not acked: %s)", nameSome(e.Missing))
	}
	return s
}

// Is makes errors.Is(err, ErrFailed) true.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// nameSome lists at most ten tasks: with 10 000 missing, the log line must stay a line.
func nameSome(tasks []events.TaskID) string {
	const most = 10
	s := ""
	for i, t := range tasks {
		if i == most {
			return fmt.Sprintf("%s and %d more", s, len(tasks)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return s
}
