package engine

import (
	"context"
	"fmt"
)

// record gives the Context of the record that ctx belongs to, if that is in work in the pipeline.
func (p *Pipeline) record(ctx context.Context) (c Context, inside bool) {
	c, ok := ctx.Value(fenceKey{}).(Context)
	return c, ok && c.task != nil && c.task.exec.pipeline == p && c.task.inside(c)
}

// hold gives the execution that is current, when it is in no record: the locks of all subtasks are taken until release. From
// inside a record they are that record's already, if it is the only one; else it is refused.
func (p *Pipeline) hold(ctx context.Context) (e *execution, release func(), err error) {
	if c, inside := p.record(ctx); inside {
		if c.task.parallel() {
			return nil, nil, ErrInRecord
		}
		return c.task.exec, func() {}, nil
	}
	return p.holdBetween(ctx)
}

// holdBetween is hold that waits for the end of all records, the caller's own included.
func (p *Pipeline) holdBetween(ctx context.Context) (*execution, func(), error) {
	e, err := p.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := e.failure(); err != nil {
		e.release()
		return nil, nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return e, e.release, nil
}

// acquire takes the locks of all subtasks, of the execution that is current then.
func (p *Pipeline) acquire(ctx context.Context) (*execution, error) {
	for {
		e := p.exec.Load()
		if err := e.acquire(ctx); err != nil {
			return nil, fmt.Errorf("wait for the records in work: %w", err)
		}
		if p.exec.Load() == e {
			return e, nil
		}
		e.release()
	}
}
