package window

import (
	"fmt"
	"math"
)

// GlobalAssigner places all records of a key in one window that ends with the input.
type GlobalAssigner struct {
	count int64 // of a count window, else 0
	set   bool  // count is meant
}

// Global returns the one window of all time. It is emitted at the end of the input, and before that when a trigger says so.
func Global() GlobalAssigner { return GlobalAssigner{} }

// Count returns windows of n records of a key each, whatever their times: the global window under [Purging] of [OnCount].
// What is left at the end of the input makes a last, smaller window. An n below 1 is reported by Validate.
func Count(n int64) GlobalAssigner { return GlobalAssigner{count: n, set: true} }

// Validate reports a count below 1 ([ErrSize]).
func (g GlobalAssigner) Validate() error {
	if g.set && g.count < 1 {
		return fmt.Errorf("count window of %d records: %w", g.count, ErrSize)
	}
	return nil
}

// Append adds the window of all time.
func (GlobalAssigner) Append(dst []Window, _ int64) []Window {
	return append(dst, Window{Start: math.MinInt64, End: math.MaxInt64})
}

// Merges says whether windows of this assigner grow together. There is but one.
func (GlobalAssigner) Merges() bool { return false }

// DefaultTrigger is that of the count for [Count], else [OnEventTime].
func (g GlobalAssigner) DefaultTrigger() Trigger {
	if g.set {
		return Purging(OnCount(g.count))
	}
	return OnEventTime()
}

// String describes the assigner; it is part of the schema of a window's state.
func (g GlobalAssigner) String() string {
	if g.set {
		return fmt.Sprintf("count(%d)", g.count)
	}
	return "global"
}

// DefaultTrigger is the trigger of a's windows where none is set: its own (a method DefaultTrigger), else [OnEventTime].
func DefaultTrigger(a Assigner) Trigger {
	if d, ok := a.(interface{ DefaultTrigger() Trigger }); ok {
		return d.DefaultTrigger()
	}
	return OnEventTime()
}
