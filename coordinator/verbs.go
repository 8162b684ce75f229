package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// Ack is a task's yes.
type Ack struct {
	// Attempt is the task's run; 0 where tasks do not register.
	Attempt events.Attempt
	// Handle is what a restore needs; may be empty.
	Handle events.StateHandle
	// JoiningEvent names the event under which the state was stored.
	JoiningEvent string
	Measures     events.Measures
}

// Acknowledge says that the task has stored its part of the checkpoint. The outcome tells whether it counted: a repeated
// ack is a Duplicate, one for a checkpoint that has ended is Late, and so on; none of these is an error. When the last
// required one is in, the checkpoint completes by itself.
func (c *Coordinator) Acknowledge(ctx context.Context, id events.CheckpointID, task events.TaskID, ack Ack) (projection.Outcome, error) {
	epoch, err := ask(ctx, c, func(l *loop) events.Epoch { return l.state.Epoch() })
	if err != nil {
		return projection.Outcome{}, err
	}
	return c.answer(ctx, &events.TaskAcked{
		Checkpoint: id, Task: task, Attempt: ack.Attempt, Epoch: epoch, Handle: ack.Handle,
		JoiningEvent: ack.JoiningEvent, Measures: ack.Measures,
	})
}

// AcknowledgeOnEvent is Acknowledge of a checkpoint that was triggered with a joining event: "I have received the event
// you named, and stored under that condition".
func (c *Coordinator) AcknowledgeOnEvent(ctx context.Context, id events.CheckpointID, task events.TaskID, event string, ack Ack) (projection.Outcome, error) {
	ack.JoiningEvent = event
	return c.Acknowledge(ctx, id, task, ack)
}

// Decline says that the task cannot take part. It fails the checkpoint at once.
func (c *Coordinator) Decline(ctx context.Context, id events.CheckpointID, task events.TaskID, attempt events.Attempt, reason events.DeclineReason, text string) (projection.Outcome, error) {
	epoch, err := ask(ctx, c, func(l *loop) events.Epoch { return l.state.Epoch() })
	if err != nil {
		return projection.Outcome{}, err
	}
	return c.answer(ctx, &events.TaskDeclined{
		Checkpoint: id, Task: task, Attempt: attempt, Epoch: epoch, Reason: reason, Text: text,
	})
}

// answer publishes what a task says and returns what the fold made of it.
func (c *Coordinator) answer(ctx context.Context, e events.Event) (projection.Outcome, error) {
	id := eventlog.NewEventID()
	answers := make(chan acked, 1) // sent once by the loop; one place
	if err := c.do(ctx, func(l *loop) { l.waiters.acks[id] = answers }); err != nil {
		return projection.Outcome{}, err
	}
	defer c.forget(func(l *loop) { delete(l.waiters.acks, id) })
	if err := c.publish(ctx, id, e); err != nil {
		return projection.Outcome{}, err
	}
	a, err := await(ctx, c, answers)
	if err == nil {
		err = a.err
	}
	return a.outcome, err
}

// AbortAll ends every checkpoint that is pending now, for the given cause (failover, cancel, …). It returns when the request
// is in the log; with nothing pending it does nothing.
func (c *Coordinator) AbortAll(ctx context.Context, cause string) error {
	highest, err := ask(ctx, c, func(l *loop) events.CheckpointID {
		id := events.NoCheckpoint
		for _, p := range l.state.Live() {
			id = max(id, p.ID)
		}
		return id
	})
	if err != nil || highest.IsZero() {
		return err
	}
	return c.publish(ctx, eventlog.NewEventID(), &events.AbortRequested{
		Request: events.RequestID("abort-" + string(eventlog.NewInstanceID())), UpTo: highest, Cause: cause, By: whoAmI(),
	})
}

// Pending is how many checkpoints wait for acks and are not due to expire.
func (c *Coordinator) Pending(ctx context.Context) (int, error) {
	return ask(ctx, c, func(l *loop) int {
		n := -len(l.due())
		for _, p := range l.state.Live() {
			if p.Phase == projection.PhasePending {
				n++
			}
		}
		return n
	})
}

// ExpirePending fails what is due now and returns how many; the coordinator does the same by itself as time goes on.
func (c *Coordinator) ExpirePending(ctx context.Context) (int, error) {
	type expiring struct {
		due []*Handle
		err error
	}
	e, err := ask(ctx, c, func(l *loop) (e expiring) {
		if l.reign == nil || !l.reign.started {
			return expiring{err: ErrNotLeading}
		}
		for _, id := range l.due() {
			e.due = append(e.due, &Handle{ID: id, verdict: l.verdictOf(id)})
		}
		return e
	})
	if err = errors.Join(err, e.err); err != nil {
		return 0, err
	}
	n := 0
	for _, h := range e.due {
		var failed *FailedError
		switch err := h.Wait(ctx); {
		case errors.As(err, &failed) && failed.Reason == events.FailedExpired:
			n++
		case err != nil && failed == nil:
			return n, err
		}
	}
	return n, nil
}

// Latest is the newest completed checkpoint by id. None is [store.ErrNone]; any other error means that it could not be read.
func (c *Coordinator) Latest(ctx context.Context) (*store.Checkpoint, error) {
	return c.cfg.Store.Latest(ctx)
}

// Get is the checkpoint of that id, open or completed; [store.ErrNotFound] if there is none.
func (c *Coordinator) Get(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	return c.cfg.Store.Load(ctx, id)
}

// Restore hands each entry of a completed checkpoint's state to sink, in the order of the keys, and returns how many. A
// missing one is [store.ErrNotFound], an open one [ErrNotCompleted], and then sink is not called. A nil sink only
// verifies. An error of sink ends it.
func (c *Coordinator) Restore(ctx context.Context, id events.CheckpointID, sink func(key string, value any) error) (int, error) {
	cp, err := c.cfg.Store.Load(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("restore checkpoint %s: %w", id, err)
	}
	if !cp.Completed {
		return 0, fmt.Errorf("restore checkpoint %s: %w", id, ErrNotCompleted)
	}
	if sink == nil {
		return len(cp.State), nil
	}
	n := 0
	for _, key := range sortedKeys(cp.State) {
		if err := sink(key, cp.State[key]); err != nil {
			return n, fmt.Errorf("restore checkpoint %s: entry %q: %w", id, key, err)
		}
		n++
	}
	return n, nil
}

// do runs a command in the loop and returns when it has run.
func (c *Coordinator) do(ctx context.Context, command func(*loop)) error {
	_, err := ask(ctx, c, func(l *loop) struct{} { command(l); return struct{}{} })
	return err
}

// forget takes a verb that is over out of the loop, whatever its context says.
func (c *Coordinator) forget(command func(*loop)) {
	select {
	case c.loop.commands <- command:
	case <-c.done:
	}
}

// ask runs a question in the loop and returns its answer.
func ask[T any](ctx context.Context, c *Coordinator, question func(*loop) T) (T, error) {
	answers := make(chan T, 1) // sent once by the loop; one place
	select {
	case c.loop.commands <- func(l *loop) { answers <- question(l) }:
	case <-c.done:
		var zero T
		return zero, ErrClosed
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
	return await(ctx, c, answers)
}

// await returns what comes through the channel, unless the coordinator or ctx ends first.
func await[T any](ctx context.Context, c *Coordinator, answers <-chan T) (T, error) {
	select {
	case a := <-answers:
		return a, nil
	default:
	}
	var zero T
	select {
	case a := <-answers:
		return a, nil
	case <-c.done:
		return zero, ErrClosed
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

func (c *Coordinator) publish(ctx context.Context, id events.EventID, e events.Event) error {
	err := c.cfg.Log.Publish(ctx, events.Envelope{ID: id, Job: c.cfg.Job, At: time.Now().UnixMilli(), Event: e})
	if err != nil {
		return fmt.Errorf("publish %s: %w", e.Kind(), err)
	}
	return nil
}

// whoAmI names this process for the reader of the log.
func whoAmI() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d", host, os.Getpid())
}
