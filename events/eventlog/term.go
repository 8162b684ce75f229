package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Errors of [Leader] and [Term].
var (
	// ErrLeaseHeld is what Campaign returns, as a [*LeaseHeldError], when another instance holds the lease.
	ErrLeaseHeld = errors.New("lease is held")
	// ErrFenced is returned by every method of [Term] once the token is not this term's: a later one has begun, or the token
	// is gone. Nothing was written, and nothing of this term will ever be.
	ErrFenced = errors.New("fenced")
	// ErrUnknownOutcome is what an [*UnknownOutcomeError] is.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrFoldBehind is returned by SaveFold for a position below the one saved in this epoch.
	ErrFoldBehind = errors.New("saved fold is newer")
	// ErrNotCovered is returned by Trim when the saved fold does not reach to where the log is to begin.
	ErrNotCovered = errors.New("not covered by the saved fold")
)

// LeaseHeldError says who holds the lease, and for how long if it is not renewed. It is an [ErrLeaseHeld].
type LeaseHeldError struct {
	Instance  events.InstanceID
	Epoch     events.Epoch
	Remaining time.Duration
}

func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("lease is held by %s in epoch %d for another %v", e.Instance, e.Epoch, e.Remaining)
}

// Is implements [errors.Is].
func (*LeaseHeldError) Is(target error) bool { return target == ErrLeaseHeld }

// UnknownOutcomeError says that a write may or may not have happened: the answer did not come. The caller reads back
// before it decides. It is an [ErrUnknownOutcome], and wraps what went wrong.
type UnknownOutcomeError struct {
	// Op is what was being done, such as "append".
	Op  string
	Err error
}

func (e *UnknownOutcomeError) Error() string { return e.Op + ": unknown outcome: " + e.Err.Error() }

// Is implements [errors.Is].
func (*UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }

// Unwrap implements [errors.Unwrap].
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Candidate is an instance that wants to coordinate the job.
type Candidate struct {
	// Instance is unique per process start.
	Instance events.InstanceID
	// Build is the version of the program.
	Build  string
	Policy events.Policy
	// TTL is the life of the lease without renewal, by the clock of the server; at least 1 ms.
	TTL time.Duration
	// MinEpoch is the highest epoch seen in the log or in any ack; the new one is above it and above the token's.
	MinEpoch events.Epoch
	// Event is the id of the coordinator_started event; empty means a new one.
	Event events.EventID
	// At is the wall clock for that event, in milliseconds.
	At int64
}

// Leader elects the job's only coordinator.
type Leader interface {
	// Campaign takes the lease if it has lapsed, was resigned, or is this instance's own, sets the token (epoch, instance) and
	// appends coordinator_started, all in one step. Else it returns a [*LeaseHeldError]. After an [ErrUnknownOutcome] it may be
	// called again: a lease that was taken then is its own, and the second start opens a further epoch.
	Campaign(ctx context.Context, c Candidate) (Term, error)
}

// Term is the reign of one coordinator. Every method but the first three compares the token in the same step in which it
// writes, and returns [ErrFenced] when it is not this term's any more, or [ErrUnknownOutcome] when no answer came.
// That the lease has lapsed does not matter as long as nobody took it.
type Term interface {
	Epoch() events.Epoch
	Instance() events.InstanceID
	// Started is the position of this term's coordinator_started.
	Started() events.Position

	// Append appends the envelopes in order, in steps of at most MaxAppend entries or MaxAppendBytes (a single larger entry
	// is a step of its own); each step is atomic. It returns the positions of the steps that are known to have happened; with an error
	// these can be fewer than envs. A deleted log is [ErrNoLog]. It is not repeated by itself.
	Append(ctx context.Context, envs ...events.Envelope) ([]events.Position, error)

	// Renew gives the lease its whole TTL again.
	Renew(ctx context.Context) error
	// Resign ends the lease, so that another instance can take it at once. The token stays: the term can still write until then.
	Resign(ctx context.Context) error

	// WriteControl makes c the newest state of the control feed. Epoch and Instance are filled in.
	WriteControl(ctx context.Context, c Control) error
	// WriteTasks sets the assignments of these tasks and leaves others alone; at most MaxAppend per step. Sets of one
	// task are atomic, the whole is not: raise Control.TasksVersion afterwards.
	WriteTasks(ctx context.Context, tasks map[events.TaskID]Assignment) error
	// KeepTasks removes the assignments of all tasks but these, in one step: a worker of a task that the coordinator does not
	// know finds that it has none.
	KeepTasks(ctx context.Context, tasks []events.TaskID) error

	// SaveFold stores the fold at the position for the next start. Within one epoch it never goes back ([ErrFoldBehind]); a
	// later epoch may, since the end of the log can be lost in a failover.
	SaveFold(ctx context.Context, at events.Position, state []byte) error
	// Quarantine stores poison entries, each once; entries without poison are skipped. The newest MaxQuarantine are kept.
	Quarantine(ctx context.Context, entries ...Entry) error
	// Trim removes all entries before the position, which must not be above the saved fold's ([ErrNotCovered]), and says how many.
	// The entry at the position stays: it is the anchor of a reader that starts from the saved fold.
	Trim(ctx context.Context, before events.Position) (removed int64, err error)
}

// Bounds of what a term writes.
const (
	MaxAppend      = 512     // entries in one step
	MaxAppendBytes = 4 << 20 // payload bytes in one step
	MaxQuarantine  = 1000    // entries
	MaxControl     = 256     // states that the control feed keeps
)
