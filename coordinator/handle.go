package coordinator

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// Handle is one triggered checkpoint. It may be used from any goroutine.
type Handle struct {
	// ID is its number.
	ID      events.CheckpointID
	verdict *verdict
}

// Wait returns when the checkpoint has ended: nil when it completed and its record says so (or this coordinator stopped
// leading in between; the next one then marks the record), a [*FailedError] when it failed, also when the epoch ended,
// [ErrClosed] when the coordinator stopped before there was a verdict, or the cause of ctx.
func (h *Handle) Wait(ctx context.Context) error {
	select {
	case <-h.verdict.ended:
		return h.verdict.err
	default:
	}
	select {
	case <-h.verdict.ended:
		return h.verdict.err
	case <-ctx.Done():
		return fmt.Errorf("wait for checkpoint %s: %w", h.ID, context.Cause(ctx))
	}
}

// TriggerOptions say what to trigger; the zero value is an ordinary checkpoint.
type TriggerOptions struct {
	// Type is a checkpoint (default) or a savepoint, which is never retired.
	Type events.CheckpointType
	// JoiningEvent, if not empty, must be named by every ack that is to count.
	JoiningEvent string
	// Cause is for the reader of the log. Default: "manual".
	Cause string
	// Request makes a repeated call the same request: it gets the same answer, within the last 4096 requests. Default: random.
	Request events.RequestID
}

// Trigger asks for a checkpoint and returns when it is pending, its open record written. A refusal is a
// [*RefusedError] (errors.Is ErrRefused), and nothing is registered then. While as many are pending as MaxConcurrent
// allows, it waits; when ctx ends first, the request stays in the log and may still be served.
func (c *Coordinator) Trigger(ctx context.Context, opts TriggerOptions) (*Handle, error) {
	if opts.Type == "" {
		opts.Type = events.TypeCheckpoint
	}
	if opts.Request == "" {
		opts.Request = events.RequestID("request-" + string(eventlog.NewInstanceID()))
	}
	if opts.Cause == "" {
		opts.Cause = "manual"
	}
	r := &requested{typ: opts.Type, joining: opts.JoiningEvent, answers: make(chan answer, 1)}
	a, err := c.request(ctx, opts, r)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return nil, fmt.Errorf("trigger: %w", err)
	}
	return &Handle{ID: a.id, verdict: a.verdict}, nil
}

func (c *Coordinator) request(ctx context.Context, opts TriggerOptions, r *requested) (answer, error) {
	if len(opts.JoiningEvent) > projection.MaxText {
		return answer{}, fmt.Errorf("joining event of %d bytes, at most %d are allowed", len(opts.JoiningEvent), projection.MaxText)
	}
	if err := c.do(ctx, func(l *loop) { l.request(opts.Request, r) }); err != nil {
		return answer{}, err
	}
	defer c.forget(func(l *loop) { l.waiters.forget(opts.Request, r) })
	select {
	case a := <-r.answers: // known already
		return a, nil
	default:
	}
	err := c.publish(ctx, eventlog.NewEventID(), &events.CheckpointRequested{
		Request: opts.Request, Type: opts.Type, JoiningEvent: opts.JoiningEvent, Cause: opts.Cause, By: whoAmI(),
	})
	if err != nil {
		return answer{}, err
	}
	return await(ctx, c, r.answers)
}

// request lets a Trigger wait, or answers it if the answer is known.
func (l *loop) request(id events.RequestID, r *requested) {
	if l.reign == nil || !l.reign.started {
		r.answers <- answer{err: ErrNotLeading}
		return
	}
	if a, ok := l.answered(id, r); ok {
		r.answers <- a
		return
	}
	l.waiters.requests[id] = append(l.waiters.requests[id], r)
}
