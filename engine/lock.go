package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// lock is a task's share of the checkpoint lock: whoever holds it may touch the task's state. Waiters are served in the order in which they came,
// and may give up; a sync.Mutex offers neither.
type lock struct {
	// token holds one value while the lock is free. Holders take it out and put it back. Capacity 1: there is one.
	token   chan struct{}
	waiting atomic.Int32
}

func newLock() *lock {
	l := &lock{token: make(chan struct{}, 1)}
	l.token <- struct{}{}
	return l
}

// acquire takes the lock, or gives up with the cause of ctx.
func (l *lock) acquire(ctx context.Context) error {
	select {
	case <-l.token:
		return nil
	default:
	}
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	select {
	case <-l.token:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// acquireWithin takes the lock, if it can within d and before ctx ends.
func (l *lock) acquireWithin(ctx context.Context, d time.Duration) bool {
	select {
	case <-l.token:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return l.acquire(ctx) == nil
}

// release gives the lock up, to the longest waiter if there is one.
func (l *lock) release() { l.token <- struct{}{} }

// wanted says whether anyone waits. The pipeline looks between two records.
func (l *lock) wanted() bool { return l.waiting.Load() > 0 }
