package events

import "errors"

// CheckpointType tells what kind of checkpoint is meant. The set is closed.
type CheckpointType string

// The types of checkpoints.
const (
	// TypeCheckpoint is owned by the job and retired by it.
	TypeCheckpoint CheckpointType = "checkpoint"
	// TypeSavepoint is owned by the user: never retired, never subsumed.
	TypeSavepoint CheckpointType = "savepoint"
)

func checkpointTypes() []CheckpointType { return []CheckpointType{TypeCheckpoint, TypeSavepoint} }

// CheckpointRequested asks the coordinator for a checkpoint. Anyone may append it. The answer is a
// [CheckpointTriggered] that names the request, or a [RequestRefused].
type CheckpointRequested struct {
	Request RequestID
	Type    CheckpointType
	// JoiningEvent, if not empty, must be named by every ack that is to count.
	JoiningEvent string
	// Cause and By are for the reader: why, and who asked.
	Cause   string
	By      string
	Unknown Unknown
}

// Kind implements [Event].
func (*CheckpointRequested) Kind() Kind { return KindCheckpointRequested }

func (e *CheckpointRequested) unknown() *Unknown { return &e.Unknown }

func (e *CheckpointRequested) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "request":
		readText(s, &e.Request)
	case "type":
		readWord(s, checkpointTypes(), &e.Type)
	case "joining_event":
		readText(s, &e.JoiningEvent)
	case "cause":
		readText(s, &e.Cause)
	case "by":
		readText(s, &e.By)
	default:
		return false
	}
	return true
}

func (e *CheckpointRequested) fields(b []byte) []byte {
	b = appendText(b, "request", e.Request)
	b = appendText(b, "type", e.Type)
	b = appendText(b, "joining_event", e.JoiningEvent)
	b = appendText(b, "cause", e.Cause)
	return appendText(b, "by", e.By)
}

func (e *CheckpointRequested) validate() error {
	return firstOf(
		checkName("request", string(e.Request)),
		checkWord("type", e.Type, checkpointTypes()),
	)
}

// AbortRequested asks the coordinator to abort every pending checkpoint with an id of at most UpTo. It names the
// highest id it means, so that a repeated one never hits a checkpoint that was triggered later. Anyone may append it.
// The answer is a [CheckpointFailed] for each, or a [RequestRefused] when there was none.
type AbortRequested struct {
	Request RequestID
	UpTo    CheckpointID
	Cause   string
	By      string
	Unknown Unknown
}

// Kind implements [Event].
func (*AbortRequested) Kind() Kind { return KindAbortRequested }

func (e *AbortRequested) unknown() *Unknown { return &e.Unknown }

func (e *AbortRequested) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "request":
		readText(s, &e.Request)
	case "up_to":
		readCheckpoint(s, &e.UpTo)
	case "cause":
		readText(s, &e.Cause)
	case "by":
		readText(s, &e.By)
	default:
		return false
	}
	return true
}

func (e *AbortRequested) fields(b []byte) []byte {
	b = appendText(b, "request", e.Request)
	b = appendNumber(b, "up_to", e.UpTo)
	b = appendText(b, "cause", e.Cause)
	return appendText(b, "by", e.By)
}

func (e *AbortRequested) validate() error {
	if e.UpTo.IsZero() {
		return errors.New("field up_to is missing")
	}
	return checkName("request", string(e.Request))
}

// RefusalReason tells why a request was refused. The set is closed.
type RefusalReason string

// The reasons of a refusal.
const (
	RefusedTasksNotReady  RefusalReason = "tasks_not_ready"  // an expected task is not registered, not restored or lost
	RefusedPendingBlocks  RefusalReason = "pending_blocks"   // as many pending as max_concurrent allows
	RefusedTooEarly       RefusalReason = "too_early"        // the interval or min-pause is not over
	RefusedQueueFull      RefusalReason = "queue_full"       // as many requests wait as the queue holds
	RefusedStoreFailed    RefusalReason = "store_failed"     // the open record could not be created
	RefusedUnverified     RefusalReason = "unverified"       // the store could not be read since start, so no id is safe
	RefusedNothingToAbort RefusalReason = "nothing_to_abort" // no pending checkpoint has an id that low
	RefusedShuttingDown   RefusalReason = "shutting_down"    // the coordinator takes no more requests
	RefusedDuplicate      RefusalReason = "duplicate"        // the request id was used by another request
	RefusedNotKept        RefusalReason = "not_kept"         // no completed checkpoint of that id is kept
	RefusedRestorable     RefusalReason = "restorable"       // the checkpoint can be read, so it is not withdrawn
	RefusedNothingOlder   RefusalReason = "nothing_older"    // no other completed checkpoint can be read
)

// RefusalReasons lists the closed set.
func RefusalReasons() []RefusalReason {
	return []RefusalReason{
		RefusedTasksNotReady, RefusedPendingBlocks, RefusedTooEarly, RefusedQueueFull, RefusedStoreFailed,
		RefusedUnverified, RefusedNothingToAbort, RefusedShuttingDown, RefusedDuplicate, RefusedNotKept,
		RefusedRestorable, RefusedNothingOlder,
	}
}

// RequestRefused is the coordinator's no to a request.
type RequestRefused struct {
	Epoch   Epoch
	Request RequestID
	Reason  RefusalReason
	// Remedy says what would make it pass, for a person.
	Remedy  string
	Unknown Unknown
}

// Kind implements [Event].
func (*RequestRefused) Kind() Kind { return KindRequestRefused }

func (e *RequestRefused) unknown() *Unknown { return &e.Unknown }

func (e *RequestRefused) set(name []byte, s *scanner) (known bool) {
	switch string(name) {
	case "epoch":
		readNumber(s, &e.Epoch)
	case "request":
		readText(s, &e.Request)
	case "reason":
		readWord(s, RefusalReasons(), &e.Reason)
	case "remedy":
		readText(s, &e.Remedy)
	default:
		return false
	}
	return true
}

func (e *RequestRefused) fields(b []byte) []byte {
	b = appendNumber(b, "epoch", e.Epoch)
	b = appendText(b, "request", e.Request)
	b = appendText(b, "reason", e.Reason)
	return appendText(b, "remedy", e.Remedy)
}

func (e *RequestRefused) validate() error {
	return firstOf(
		checkEpoch(e.Epoch),
		checkName("request", string(e.Request)),
		checkWord("reason", e.Reason, RefusalReasons()),
	)
}
