package engine

import (
	"context"
	"time"
)

// Context is what a user's function knows about the record it is called for. It is a [context.Context]: it ends when
// the run does. Handing it to [Pipeline.Cut] from inside the function is what makes a cut possible there: it carries
// the record's hold on the checkpoint lock. It means nothing any more once the function has returned; a cut with a stale
// one simply waits its turn. Handing it to another goroutine hands on the lock, so the function must wait for that
// goroutine and touch no state meanwhile.
type Context struct {
	task *task
	seq  uint64 // the fence that it was made in
	ts   int64
}

var _ context.Context = Context{}

// fenceKey is under what a Context finds itself, through any number of derived contexts.
type fenceKey struct{}

// Timestamp is the record's event time in milliseconds.
func (c Context) Timestamp() int64 { return c.ts }

// Deadline is the run's.
func (c Context) Deadline() (time.Time, bool) { return c.task.exec.ctx.Deadline() }

// Done is closed when the run is to end.
func (c Context) Done() <-chan struct{} { return c.task.exec.ctx.Done() }

// Err says why the run is to end.
func (c Context) Err() error { return c.task.exec.ctx.Err() }

// Value gives the run's values.
func (c Context) Value(key any) any {
	if key == (fenceKey{}) {
		return c
	}
	return c.task.exec.ctx.Value(key)
}
