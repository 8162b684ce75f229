package projection

import (
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// Decision is something that the coordinator is to do now. The set is closed: a switch over the types of this file is
// total. Decisions are levels: [Decide] repeats each until the log says that it is done.
//
//sumtype:decl
type Decision interface {
	// Key tells repeats apart: while the effect of a decision is in flight, those with an equal key are to be ignored.
	Key() Key

	decision() // seals the set
}

// Key is the identity of a decision; comparable. There is one Trigger, one Retire and one Discard in flight at most.
type Key struct {
	What       string // the name of the decision's type
	Checkpoint events.CheckpointID
	Request    events.RequestID
	Task       events.TaskID
}

// Trigger asks for a new checkpoint: reserve the id in the store, then log it.
type Trigger struct {
	ID   events.CheckpointID
	Type events.CheckpointType
	// Request is the one that it answers; empty for a periodic one.
	Request events.RequestID
	Cause   string
	// Tasks are the attempts that must ack, sorted by task; nil when Count is set.
	Tasks []events.TaskAttempt
	Count int64
	// Timeout is how long it may be pending; 0 means for ever.
	Timeout      time.Duration
	JoiningEvent string
}

// Refuse asks for the no to a request.
type Refuse struct {
	Request events.RequestID
	Reason  events.RefusalReason
	// Remedy says what would make it pass, for a person.
	Remedy string
}

// Fail asks for the verdict that ends a pending checkpoint badly.
type Fail struct {
	ID     events.CheckpointID
	Reason events.FailureReason
	// Missing names the required tasks that have not acked, sorted.
	Missing []events.TaskID
	// Text is the cause in words.
	Text string
}

// Finalize says that all acks of the checkpoint are in: prove its chunks, then log it as completed.
type Finalize struct{ ID events.CheckpointID }

// Examine asks for a look at the state of a restore point, and for its withdrawal if that cannot be read, together with older
// ones of which the same is true, down to one that can. It comes from the doubts of tasks, or from a request.
type Examine struct {
	ID events.CheckpointID
	// Tasks, sorted, doubt it: their state is to be read. None if it is a request: then every task's is.
	Tasks []events.TaskID
	// Request is the one to answer; empty if tasks have asked.
	Request events.RequestID
	// Forced wants it withdrawn whatever the look shows, and ToNothing also when no other can be read.
	Forced, ToNothing bool
	Cause             string
}

// Lose asks for a task_lost of an attempt whose presence lapsed.
type Lose struct {
	Task    events.TaskID
	Attempt events.Attempt
}

// Retire names, ascending, completed checkpoints that the policy no longer keeps.
type Retire struct{ IDs []events.CheckpointID }

// Discard names, ascending, up to [MaxDiscard] failed or retired checkpoints whose state is to go.
type Discard struct{ IDs []events.CheckpointID }

// MaxDiscard is how many checkpoints one [Discard] names at most.
const MaxDiscard = 64

// Key implements [Decision]; all triggers share one.
func (Trigger) Key() Key { return Key{What: "trigger", Checkpoint: events.NoCheckpoint} }

// Key implements [Decision].
func (r Refuse) Key() Key {
	k := Key{What: "refuse", Checkpoint: events.NoCheckpoint, Request: r.Request}
	if r.Reason == events.RefusedDuplicate { // about another request of the same id
		k.What = "refuse duplicate"
	}
	return k
}

// Key implements [Decision]; it is the same for every reason.
func (f Fail) Key() Key { return Key{What: "fail", Checkpoint: f.ID} }

// Key implements [Decision].
func (f Finalize) Key() Key { return Key{What: "finalize", Checkpoint: f.ID} }

// Key implements [Decision]; it is the same for whichever tasks doubt.
func (e Examine) Key() Key { return Key{What: "examine", Checkpoint: e.ID, Request: e.Request} }

// Key implements [Decision].
func (l Lose) Key() Key { return Key{What: "lose", Checkpoint: events.NoCheckpoint, Task: l.Task} }

// Key implements [Decision]; all retirements share one.
func (Retire) Key() Key { return Key{What: "retire", Checkpoint: events.NoCheckpoint} }

// Key implements [Decision]; all discards share one.
func (Discard) Key() Key { return Key{What: "discard", Checkpoint: events.NoCheckpoint} }

func (Trigger) decision()  {}
func (Refuse) decision()   {}
func (Fail) decision()     {}
func (Finalize) decision() {}
func (Examine) decision()  {}
func (Lose) decision()     {}
func (Retire) decision()   {}
func (Discard) decision()  {}
