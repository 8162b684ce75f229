package engine

import (
	"context"
	"sync/atomic"
)

// ring is a bounded hand-off: one goroutine pushes, one takes runs of elements without any lock. A full ring blocks who
// pushes; an empty one parks the task that takes, once all its rings are.
type ring[E any] struct {
	slots []E // a power of two
	mask  uint64

	// Of who pushes alone: slots before filled have been written, those before seen were free when it last looked.
	filled, seen uint64
	_            [48]byte // what two goroutines write lies on cache lines of its own

	tail atomic.Uint64 // written by who pushes: slots before it may be taken
	_    [56]byte
	head atomic.Uint64 // written by the task: slots before it are free
	_    [56]byte
	full atomic.Bool // who pushes waits for space

	// space wakes who waits for space. The task sends, nobody closes. Capacity 1: a wake-up is a level, not a count.
	space chan struct{}
	// bell wakes the task when it is parked.
	bell *bell
}

// bell wakes a parked task.
type bell struct {
	parked atomic.Bool
	// wake: sent by whoever has something for the task, never closed; capacity 1, since a wake-up is a level.
	wake chan struct{}
}

func newBell() *bell { return &bell{wake: make(chan struct{}, 1)} }

// ring wakes the task if it is parked. The task sets parked and then looks at its rings once more, and who pushes fills a
// ring and then looks at parked; so one of the two sees the other.
func (b *bell) ring() {
	if b.parked.Load() {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

func newRing[E any](size int, b *bell) *ring[E] {
	n := 1
	for n < size {
		n *= 2
	}
	return &ring[E]{slots: make([]E, n), mask: uint64(n - 1), space: make(chan struct{}, 1), bell: b}
}

// push hands one element over, waiting for space until ctx ends.
func (r *ring[E]) push(ctx context.Context, e E) error {
	if err := r.pushLazily(ctx, e); err != nil {
		return err
	}
	r.publish()
	return nil
}

// publishAt is how many elements may lie unseen in a ring that is filled lazily: storing the tail for each costs more than a
// small record.
const publishAt = 64

// pushLazily is push whose elements may stay unseen until there are 64 of them, the ring is full, or publish is called. For
// who does not block in between.
func (r *ring[E]) pushLazily(ctx context.Context, e E) error {
	if r.filled-r.seen > r.mask {
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	r.slots[r.filled&r.mask] = e
	r.filled++
	if r.filled%publishAt == 0 {
		r.publish()
	}
	return nil
}

// pushAll hands over all of es, in order, waiting for space until ctx ends.
func (r *ring[E]) pushAll(ctx context.Context, es []E) error {
	for len(es) > 0 {
		if r.filled-r.seen > r.mask {
			if err := r.wait(ctx); err != nil {
				return err
			}
		}
		for r.filled-r.seen <= r.mask && len(es) > 0 {
			r.slots[r.filled&r.mask] = es[0]
			es = es[1:]
			r.filled++
		}
		r.publish()
	}
	return nil
}

// publish makes visible what has been filled.
func (r *ring[E]) publish() {
	r.tail.Store(r.filled)
	r.bell.ring()
}

// show is publish, for who may have nothing new.
func (r *ring[E]) show() {
	if r.tail.Load() != r.filled {
		r.publish()
	}
}

// wait returns when there is space, and has seen how much.
func (r *ring[E]) wait(ctx context.Context) error {
	for {
		if r.seen = r.head.Load(); r.filled-r.seen <= r.mask {
			return nil
		}
		r.publish()
		r.full.Store(true)
		if r.seen = r.head.Load(); r.filled-r.seen <= r.mask {
			r.full.Store(false)
			return nil
		}
		select {
		case <-r.space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// free tells who pushes that everything before head may be overwritten.
func (r *ring[E]) free(head uint64) {
	r.head.Store(head)
	if r.full.Load() {
		r.full.Store(false)
		select {
		case r.space <- struct{}{}:
		default:
		}
	}
}
