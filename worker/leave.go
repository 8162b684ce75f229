package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// lastWords bounds what an attempt says when it ends: declines and a farewell.
const lastWords = 3 * time.Second

var errClosing = errors.New("the worker is shutting down")

// leave ends an attempt. A shutdown waits for the cut that is being stored; an attempt that failed or was replaced does
// not. What is pending and was not answered is declined, so that nobody waits for the timeout; an attempt that is void
// says nothing.
func (a *attempt) leave(life context.Context, cause error, shutdown bool) {
	if isVoid(cause) {
		a.end(cause)
	}
	a.pulse.phase.Store(phaseStopping)
	if a.cutting != nil {
		a.awaitCut(life, shutdown)
	}
	if cause == nil || life.Err() != nil || a.lapsed() {
		return
	}
	ctx, cancel := context.WithTimeout(life, lastWords)
	defer cancel()
	if shutdown {
		cause = &refusal{events.DeclinedClosing, errClosing}
	}
	for _, p := range a.last.Pending {
		if a.newest.before(orderOf(p)) {
			a.decline(ctx, p, cause)
		}
	}
	if shutdown {
		left := &events.TaskLeft{Task: a.cfg.Task, Attempt: a.assigned.Attempt, Text: "the worker was told to stop"}
		if err := a.publish(ctx, left); err != nil {
			a.log.Debug().Err(err).Msg("say that the task is left")
		}
	}
	a.fallSilent()
	// A life of a millisecond: the coordinator sees at once that nobody is there.
	gone := eventlog.Presence{Instance: a.assigned.Instance, Attempt: a.assigned.Attempt, Phase: phaseStopped}
	if err := a.cfg.Log.Beat(ctx, a.cfg.Task, gone, time.Millisecond); err != nil {
		a.log.Debug().Err(err).Msg("say farewell")
	}
}

// awaitCut waits for the cut under way, as long as somebody waits for it, or ends it.
func (a *attempt) awaitCut(life context.Context, shutdown bool) {
	if shutdown && a.drained(life) {
		return
	}
	before := a.newest
	a.cutting.cancel()
	ans := <-a.answers
	a.answered(ans)
	if !ans.said {
		a.newest = before // so that it is declined like the others
	}
}

// drained waits for the cut within the drain timeout.
func (a *attempt) drained(life context.Context) bool {
	timer := time.NewTimer(a.cfg.DrainTimeout)
	defer timer.Stop()
	for a.pending(orderOf(a.cutting.pending)) {
		select {
		case ans := <-a.answers:
			a.answered(ans)
			return true
		case a.last = <-a.controls:
		case <-timer.C:
			a.log.Warn().Stringer("checkpoint", a.cutting.pending.ID).Msg("cut was not stored within the drain timeout")
			return false
		case <-a.hurry:
			return false
		case <-life.Done():
			return false
		}
	}
	return false
}

// isVoid reports whether an attempt that ended so may not say anything any more.
func isVoid(err error) bool {
	return errors.Is(err, ErrSuperseded) || errors.Is(err, errLapsed) || errors.Is(err, errForgotten) || errors.Is(err, errDamaged)
}

// lookAround decides what follows when an attempt has lapsed: if another process has the task, or is about to, this one
// leaves it alone; else it may register anew. It waits until the log can say.
func (w *Worker) lookAround(ctx context.Context, mine eventlog.Assignment) error {
	for {
		now, ok, err := w.cfg.Log.Assignment(ctx, w.cfg.Task)
		var seen map[events.TaskID]eventlog.Presence
		if err == nil {
			seen, err = w.cfg.Log.Presences(ctx, []events.TaskID{w.cfg.Task})
		}
		other, alive := seen[w.cfg.Task]
		switch {
		case err != nil:
			w.log.Warn().Err(err).Msg("look whether another process has the task")
		case ok && now.Attempt > mine.Attempt && now.Phase != phaseLost:
			return fmt.Errorf("task %s: %w: instance %s in attempt %s", w.cfg.Task, ErrSuperseded, now.Instance, now.Attempt)
		case alive && other.Instance != mine.Instance && (other.Attempt.IsZero() || other.Attempt > mine.Attempt):
			return fmt.Errorf("task %s: %w: instance %s is alive", w.cfg.Task, ErrSuperseded, other.Instance)
		default:
			return nil
		}
		if !w.pause(ctx) {
			return context.Cause(ctx)
		}
	}
}
