package window

import "math"

// Result is what a trigger decides about the content of a window.
type Result uint8

// Results. They are bits: FireAndPurge is Fire and Purge.
const (
	// Continue leaves the window as it is.
	Continue Result = 0
	// Fire emits the content and keeps it.
	Fire Result = 1
	// Purge drops the content without emitting it.
	Purge Result = 2
	// FireAndPurge emits the content and drops it.
	FireAndPurge = Fire | Purge
)

// String names the result: "FIRE_AND_PURGE".
func (r Result) String() string {
	switch r {
	case Continue:
		return "CONTINUE"
	case Fire:
		return "FIRE"
	case Purge:
		return "PURGE"
	case FireAndPurge:
		return "FIRE_AND_PURGE"
	default:
		return "unknown"
	}
}

// Memory is what a trigger knows about one window of one key: two numbers of its own, zero at first. They lie in the
// engine's state, so they are part of every cut.
type Memory [2]int64

// Never is no time to be woken at.
const Never int64 = math.MaxInt64

// Call is one window of one key, as a trigger sees it. It is valid until the trigger returns.
type Call struct {
	Window Window
	// EventTime is how far event time has come: every record before it is there. It is the watermark plus 1 ms.
	EventTime int64
	// ProcessingTime is the time of the engine's clock in milliseconds, and 0 where it has none.
	ProcessingTime int64
	// Lateness is for how long the window is kept after its end, in milliseconds of event time.
	Lateness int64
	// Memory is read before the call and kept after it.
	Memory Memory
	// WakeEventTime and WakeProcessingTime are when OnEventTime and OnProcessingTime are to be called next; [Never] means not.
	// OnEventTime comes at the window's end as well, unasked. Each is reset before the call that it asked for. There a new
	// one must be later than the time of the call, else it counts as Never: so no trigger can wake itself for ever at one
	// moment. Setting WakeProcessingTime where the engine has no clock is an error of the run.
	WakeEventTime, WakeProcessingTime int64
}

// Trigger decides when windows are emitted. One value serves all windows of an operator: what it remembers about one of
// them belongs in [Call].Memory. All methods run within a record's fence, so they must not block; a panic ends the run.
type Trigger interface {
	// OnElement is asked after a record with timestamp ts has been added.
	OnElement(c *Call, ts int64) Result
	// OnEventTime is asked when event time has reached t: the window's end, or the time asked for. At the end of the input
	// it comes once for each window, with its end, and no later wake is honoured; what is then left in it is emitted.
	OnEventTime(c *Call, t int64) Result
	// OnProcessingTime is asked when the clock has reached the time asked for.
	OnProcessingTime(c *Call, t int64) Result
	// OnMerge takes in the memory of a window that c's has grown together with. The earlier wake of both is kept.
	OnMerge(c *Call, other Memory)
	// Clear is called when the engine forgets the window.
	Clear(c *Call)
	// String describes the trigger in full: state of another description is refused on restore.
	String() string
}
