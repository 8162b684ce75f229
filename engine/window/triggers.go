package window

import "fmt"

// OnEventTime fires when event time reaches the end of the window, and again for every record that comes later and is still
// allowed. The content is dropped with the firing if nothing may follow. It is the default.
func OnEventTime() Trigger { return eventTime{} }

type eventTime struct{}

func (t eventTime) OnElement(c *Call, _ int64) Result {
	// Before the end, OnEventTime will come unasked.
	return t.OnEventTime(c, c.EventTime)
}

func (eventTime) OnEventTime(c *Call, t int64) Result {
	switch {
	case t < c.Window.End:
		return Continue
	case c.Lateness > 0:
		return Fire
	default:
		return FireAndPurge
	}
}

func (eventTime) OnProcessingTime(*Call, int64) Result { return Continue }
func (eventTime) OnMerge(*Call, Memory)                {}
func (eventTime) Clear(*Call)                          {}
func (eventTime) String() string                       { return "event-time" }
func (eventTime) ReadsProcessingTime() bool            { return false }

// OnProcessingTime fires, and drops the content, when the clock of the engine reaches the end of the window. A graph without
// a clock refuses it.
func OnProcessingTime() Trigger { return processingTime{} }

type processingTime struct{}

func (processingTime) OnElement(c *Call, _ int64) Result {
	c.WakeProcessingTime = c.Window.End
	return Continue
}

func (processingTime) OnEventTime(*Call, int64) Result { return Continue }

func (processingTime) OnProcessingTime(c *Call, t int64) Result {
	if t < c.Window.End {
		c.WakeProcessingTime = c.Window.End // the window has grown
		return Continue
	}
	return FireAndPurge
}

func (processingTime) OnMerge(*Call, Memory)     {}
func (processingTime) Clear(*Call)               {}
func (processingTime) String() string            { return "processing-time" }
func (processingTime) ReadsProcessingTime() bool { return false }
func (processingTime) UsesProcessingTime() bool  { return true }

// OnCount fires with every n-th record since it last fired, and keeps the content; see [Purging]. An n below 1 is
// reported by Validate, so by Build.
func OnCount(n int64) Trigger { return count{n} }

type count struct{ n int64 }

func (t count) Validate() error {
	if t.n < 1 {
		return fmt.Errorf("trigger on a count of %d: %w", t.n, ErrSize)
	}
	return nil
}

func (t count) OnElement(c *Call, _ int64) Result {
	c.Memory[0]++
	if c.Memory[0] < t.n {
		return Continue
	}
	c.Memory[0] = 0
	return Fire
}

func (count) OnEventTime(*Call, int64) Result      { return Continue }
func (count) OnProcessingTime(*Call, int64) Result { return Continue }

// OnMerge adds up: the next record may find the count exceeded, and fires.
func (count) OnMerge(c *Call, other Memory) { c.Memory[0] += other[0] }
func (count) Clear(*Call)                   {}
func (t count) String() string              { return fmt.Sprintf("on-count(%d)", t.n) }
func (count) ReadsProcessingTime() bool     { return false }

// Purging is inner, except that the content is dropped whenever inner fires.
func Purging(inner Trigger) Trigger {
	if inner == nil {
		return nil
	}
	return purging{inner}
}

type purging struct{ Trigger }

func (p purging) OnElement(c *Call, ts int64) Result  { return purge(p.Trigger.OnElement(c, ts)) }
func (p purging) OnEventTime(c *Call, t int64) Result { return purge(p.Trigger.OnEventTime(c, t)) }
func (p purging) OnProcessingTime(c *Call, t int64) Result {
	return purge(p.Trigger.OnProcessingTime(c, t))
}
func (p purging) String() string            { return "purging(" + p.Trigger.String() + ")" }
func (p purging) Validate() error           { return ValidateTrigger(p.Trigger) }
func (p purging) UsesProcessingTime() bool  { return UsesProcessingTime(p.Trigger) }
func (p purging) ReadsProcessingTime() bool { return ReadsProcessingTime(p.Trigger) }

func purge(r Result) Result {
	if r&Fire != 0 {
		r |= Purge
	}
	return r
}

// ValidateTrigger is t's own method Validate, if it has one.
func ValidateTrigger(t Trigger) error {
	if v, ok := t.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// UsesProcessingTime says whether t needs a clock: t's own method of that name, else false.
func UsesProcessingTime(t Trigger) bool {
	u, ok := t.(interface{ UsesProcessingTime() bool })
	return ok && u.UsesProcessingTime()
}

// ReadsProcessingTime says whether t looks at [Call].ProcessingTime: t's own method of that name, else true. Where it does
// not, the clock is not asked for it.
func ReadsProcessingTime(t Trigger) bool {
	r, ok := t.(interface{ ReadsProcessingTime() bool })
	return !ok || r.ReadsProcessingTime()
}
