package engine

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Requested is something that has been asked for and is there later.
type Requested[T any] struct {
	done  chan struct{} // closed by whoever has the result
	value T
	err   error
}

// Wait waits for the result, but no longer than ctx. Any number of goroutines may; nobody need.
func (r *Requested[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-r.done:
		return r.value, r.err
	default:
	}
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), fmt.Errorf("wait for what was requested: %w", context.Cause(ctx))
	}
}

// Request is a [Pipeline.Cut] that is asked for now and taken as soon as every subtask is between two records, also from inside
// a record beside which others are in work. There nobody waits for it: the record has to end first. From inside a record
// that has the only subtask it is taken at once. The request ends with ctx; one from inside a record, with that record's
// [Context], ends with the run.
func (p *Pipeline) Request(ctx context.Context, id int64) *Requested[*Snapshot] {
	return request(ctx, p, func(hold holding) (*Snapshot, error) {
		s, err := p.cut(ctx, hold, func() int64 { return id })
		if err != nil {
			return nil, fmt.Errorf("cut %d: %w", id, err)
		}
		return s, nil
	})
}

// holding is [Pipeline.hold] or [Pipeline.holdBetween].
type holding func(context.Context) (*execution, func(), error)

// request calls f at once where the caller's record has the only subtask; else f waits for the end of all records, on a
// goroutine that ends when f does.
func request[T any](ctx context.Context, p *Pipeline, f func(holding) (T, error)) *Requested[T] {
	r := &Requested[T]{done: make(chan struct{})}
	if c, inside := p.record(ctx); inside && !c.task.parallel() {
		r.value, r.err = f(p.hold)
		close(r.done)
		return r
	}
	go func() {
		defer close(r.done)
		defer func() {
			if v := recover(); v != nil { // a function of the user's own that has a part in the cut
				r.err = &PanicError{Value: v, Stack: debug.Stack()}
			}
		}()
		r.err = errGone // unless f returns
		r.value, r.err = f(p.holdBetween)
	}()
	return r
}
