package engine

import (
	"context"
	"sync/atomic"
)

// slot is one record on its way from a source to the pipeline.
type slot[T any] struct {
	val  T
	ts   int64
	next int64 // where reading resumes after this record
}

// ring is the bounded hand-off of one source: one goroutine pushes, one takes runs of records without any lock. A full
// ring blocks the source; an empty one parks the pipeline.
type ring[T any] struct {
	slots []slot[T] // a power of two
	mask  uint64

	tail atomic.Uint64 // written by the source: slots before it are filled
	_    [56]byte      // head and tail on cache lines of their own
	head atomic.Uint64 // written by the pipeline: slots before it are free
	_    [56]byte
	full atomic.Bool // the source waits for space

	// space wakes a source that waits. The pipeline sends, nobody closes. Capacity 1: a wake-up is a level, not a count.
	space chan struct{}
	// wake wakes the pipeline when it is parked. Shared by all sources of a task; capacity 1 for the same reason.
	wake   chan<- struct{}
	parked *atomic.Bool
}

func newRing[T any](size int, wake chan<- struct{}, parked *atomic.Bool) *ring[T] {
	n := 1
	for n < size {
		n *= 2
	}
	return &ring[T]{slots: make([]slot[T], n), mask: uint64(n - 1), space: make(chan struct{}, 1), wake: wake, parked: parked}
}

// push hands one record over, waiting for space until ctx ends. Source side.
func (r *ring[T]) push(ctx context.Context, s slot[T]) error {
	tail := r.tail.Load()
	for tail-r.head.Load() > r.mask {
		r.full.Store(true)
		if tail-r.head.Load() <= r.mask {
			r.full.Store(false)
			break
		}
		select {
		case <-r.space:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	r.slots[tail&r.mask] = s
	r.tail.Store(tail + 1)
	r.rouse()
	return nil
}

// rouse wakes the pipeline if it is parked. The pipeline sets parked and then looks at the ring once more, and a source
// fills the ring and then looks at parked; so one of the two sees the other.
func (r *ring[T]) rouse() {
	if r.parked.Load() {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// free tells the source that everything before head may be overwritten. Pipeline side.
func (r *ring[T]) free(head uint64) {
	r.head.Store(head)
	if r.full.Load() {
		r.full.Store(false)
		select {
		case r.space <- struct{}{}:
		default:
		}
	}
}
