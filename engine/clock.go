package engine

import (
	"errors"
	"math"
	"runtime/debug"
	"time"
)

// ErrNoClock reports processing time in a graph whose [Config] has no clock.
var ErrNoClock = errors.New("no clock for processing time")

// SystemTime is the clock of the machine, for [Config].Clock.
func SystemTime() int64 { return time.Now().UnixMilli() }

// clocked is an operator that waits for moments of processing time.
type clocked interface {
	// advance fires what is due at now.
	advance(now int64) error
	// next is the next moment that something may be due, or math.MaxInt64.
	next() int64
}

// tick fires what is due, within a fence.
func (t *task) tick() error {
	t.at = clockOperator
	now := t.cfg.Clock()
	for _, c := range t.clocked {
		if c.next() > now {
			continue
		}
		if err := c.advance(now); err != nil {
			return err
		}
	}
	return nil
}

// clockOperator is what the clock of the user's is called in errors.
var clockOperator = &operator{name: "clock", what: "clock failed"}

// idleTick is tick while no record is there.
func (t *task) idleTick() error {
	if len(t.clocked) == 0 {
		return nil
	}
	if left := t.untilDue(); left > 0 || t.clockErr != nil {
		return t.clockErr
	}
	return t.protect(func() error {
		t.begin(position{})
		return t.tick()
	})
}

// publishDue says when the next moment is. Under the lock: a restore may put it elsewhere, from another goroutine.
func (t *task) publishDue() {
	at := int64(math.MaxInt64)
	for _, c := range t.clocked {
		at = min(at, c.next())
	}
	t.due.Store(at)
}

// untilDue is how long nothing will be due.
func (t *task) untilDue() time.Duration {
	at := t.due.Load()
	now := t.readClock()
	if at <= now {
		return 0
	}
	const longest = int64(time.Hour / time.Millisecond) // then it is asked again
	if at-now < 0 || at-now > longest {
		return time.Hour
	}
	return time.Duration(at-now) * time.Millisecond
}

// readClock asks the clock outside of a fence. A panic ends the run when idleTick comes to it.
func (t *task) readClock() (now int64) {
	defer func() {
		if v := recover(); v != nil {
			t.clockErr = &OperatorError{
				Operator: clockOperator.name, What: clockOperator.what, Err: &PanicError{Value: v, Stack: debug.Stack()},
			}
			now = math.MaxInt64
		}
	}()
	return t.cfg.Clock()
}

// alarm is a channel that says when the clock is to be asked again; nil where nothing waits for it. A task that waits often
// does so with one timer.
func (t *task) alarm() <-chan time.Time {
	if len(t.clocked) == 0 {
		return nil
	}
	// A clock of the user's own may stand still: it is asked once a millisecond then.
	after := max(t.untilDue(), time.Millisecond)
	if t.timer == nil {
		t.timer = time.NewTimer(after)
	} else {
		t.timer.Reset(after)
	}
	return t.timer.C
}

// silence ends an alarm that nobody waits for any more.
func (t *task) silence() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
