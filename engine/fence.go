package engine

import (
	"context"
	"errors"
	"runtime/debug"
)

// enter takes the lock for the task's goroutine.
func (t *task) enter(ctx context.Context) error {
	if err := t.lock.acquire(ctx); err != nil {
		return err
	}
	t.held = true
	if t.handed {
		t.handed, t.gathered = false, 0
		for _, o := range t.outward {
			o.reset()
		}
	}
	return nil
}

// leave publishes the counters and gives the lock up. It does nothing if the lock is not held.
func (t *task) leave() {
	if !t.held {
		return
	}
	t.publish()
	t.held, t.opened = false, false
	t.fence.Store(0)
	t.lock.release()
}

// begin marks the start of one record's body. The fence that its Context stands for is an atomic store, which costs as much
// as a small operator: where few records come to a function that wants it, it is opened there.
func (t *task) begin(p position) {
	t.cur = p
	if t.fenced {
		t.seq++
		t.fence.Store(t.seq)
		return
	}
	if t.opened {
		t.opened = false
		t.fence.Store(0)
	}
}

// between is called between two records: it lets a waiting cut through, full sinks write, and what has been gathered go,
// outside the lock.
func (t *task) between() error {
	if t.exec.stop.Load() && (!t.exec.settling || t.exec.ctx.Err() != nil) {
		t.leave() // the record is whole: a cut may be taken of it
		return context.Cause(t.exec.ctx)
	}
	if !t.lock.wanted() && t.gathered < handOverAt && !t.sinksFull() {
		return nil
	}
	t.leave()
	if err := t.flush(); err != nil {
		return err
	}
	return t.enter(t.exec.ctx)
}

func (t *task) sinksFull() bool {
	for _, s := range t.sinks {
		if s.full() {
			return true
		}
	}
	return false
}

// flush lets every sink with much in memory write it, and hands over what has been gathered. Never under the lock.
func (t *task) flush() error {
	for _, s := range t.sinks {
		if !s.full() {
			continue
		}
		if err := s.flush(t.exec.ctx); err != nil {
			return err
		}
	}
	t.handed = true
	for _, o := range t.outward {
		if t.exec.settling {
			o.settle()
			continue
		}
		if err := o.handOver(t.exec.ctx); err != nil {
			return err
		}
	}
	return nil
}

// protect runs f under the lock and turns its panic into an error. After an error the task's state is that of an
// unfinished record, so no cut is taken of it any more.
func (t *task) protect(f func() error) (err error) {
	if err := t.enter(t.exec.ctx); err != nil {
		return err
	}
	err = errGone // unless f returns, or panics
	defer func() {
		if v := recover(); v != nil {
			err = t.fault(t.at, &PanicError{Value: v, Stack: debug.Stack()})
		} else if errors.Is(err, errGone) {
			err = t.fault(t.at, err)
		}
		if err != nil && t.held {
			t.failed = err
		}
		t.leave()
	}()
	return f()
}

// announce says again what was known at the cut.
func (t *task) announce() error {
	return t.protect(func() error {
		t.begin(position{})
		for _, a := range t.announcers {
			if err := a.announce(); err != nil {
				return err
			}
		}
		return nil
	})
}

// context is what the function of the record in work gets.
func (t *task) context(ts int64) Context {
	if !t.fenced && !t.opened {
		t.opened = true
		t.seq++
		t.fence.Store(t.seq)
	}
	return Context{task: t, seq: t.seq, ts: ts}
}

// inside says whether c belongs to the record in work, so that its owner holds the lock.
func (t *task) inside(c Context) bool { return c.task == t && c.seq != 0 && t.fence.Load() == c.seq }
