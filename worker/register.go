package worker

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// registration is how far the registration of one instance has come.
type registration struct {
	assigned eventlog.Assignment
	epoch    events.Epoch // of the coordinator's state in which the assignment was found

	instance events.InstanceID
	before   events.Attempt  // the task's newest attempt when we registered
	at       events.Position // the registration is in the log up to here; End when that is not known
	first    stateID         // the first state seen
	seen     bool            // a state has been seen
	version  assignedVersion // of the assignments that were read last
	passed   time.Time       // when the coordinator was first seen to have passed the registration over
	warned   bool
	heard    func() // ends the wait for anybody to lead
}

// answerGrace is how long a coordinator that has read a registration may take for the assignment: it is written a moment
// later, and after a restart only when the restore point has landed.
const answerGrace = 5 * time.Second

// leaderGrace is how long nobody need have read a registration before the worker says that nobody seems to lead. A coordinator that
// leads reads it within a second; one that starts meanwhile, or takes over, may take longer, and then nothing is wrong.
const leaderGrace = 5 * time.Second

// register announces a new instance and waits until the coordinator has given it an attempt.
func (w *Worker) register(ctx context.Context) (registration, error) {
	r := registration{instance: "worker-" + eventlog.NewInstanceID(), at: events.End}
	w.beatUnassigned(ctx, r.instance)
	if now, ok, err := w.cfg.Log.Assignment(ctx, w.cfg.Task); err == nil && ok {
		r.before = now.Attempt
	}
	e := &events.TaskRegistered{Task: w.cfg.Task, Instance: r.instance, Host: host(), PID: int64(os.Getpid())}
	if err := w.publish(ctx, e); err != nil {
		return r, err
	}
	if at, ok, err := w.cfg.Log.Last(ctx); err == nil && ok {
		r.at = at
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	nobody, heard := context.WithCancel(ctx)
	r.heard = heard
	wg.Go(func() { w.sayThatNobodyLeads(nobody) })
	wg.Go(func() { // the coordinator may take its time
		for sleep(ctx, w.cfg.PresenceTTL/3) {
			w.beatUnassigned(ctx, r.instance)
		}
	})
	err := w.await(ctx, &r)
	return r, err
}

func (w *Worker) beatUnassigned(ctx context.Context, instance events.InstanceID) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.PresenceTTL)
	defer cancel()
	p := eventlog.Presence{Instance: instance, Phase: phaseRegistering}
	if err := w.cfg.Log.Beat(ctx, w.cfg.Task, p, w.cfg.PresenceTTL); err != nil && ctx.Err() == nil {
		w.log.Warn().Err(err).Msg("give a sign of life")
	}
}

// sayThatNobodyLeads says so after a while, unless somebody was heard of by then. A worker may not read the lease itself: its rights
// on Redis leave that key out.
func (w *Worker) sayThatNobodyLeads(nobody context.Context) {
	if !sleep(nobody, leaderGrace) {
		return
	}
	tasks := "<number of tasks>"
	if w.counted {
		tasks = strconv.Itoa(w.cfg.Count)
	}
	job := w.cfg.Log.Job()
	w.log.Warn().Msgf("nobody seems to lead job %s; start a coordinator: coordinator serve --job %s --tasks %s", job, job, tasks)
}

// await looks at the task's assignment after each change of the control state, which points to it.
func (w *Worker) await(ctx context.Context, r *registration) error {
	w.log.Info().Stringer("instance", r.instance).Msg("waiting for the coordinator")
	for control, err := range w.cfg.Log.FollowControl(ctx, w.followOptions()) {
		if err != nil {
			return fmt.Errorf("follow the control feed: %w", err)
		}
		if done, err := w.look(ctx, r, control); done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// look reports whether the assignment has come. A coordinator that has read past the registration and gives this instance
// nothing has given the task to one that registered later, or does not expect the task, or has lost the registration.
func (w *Worker) look(ctx context.Context, r *registration, c eventlog.Control) (done bool, err error) {
	if !r.seen {
		r.seen, r.first = true, stateOf(c)
	}
	folded := !c.Position.Before(r.at)
	if folded || stateOf(c) != r.first {
		r.heard() // what was there first may be what a coordinator left that is long gone
	}
	if err := w.checkShare(c); err != nil {
		if !folded && stateOf(c) == r.first {
			return false, nil // it may be what a coordinator left that is long gone
		}
		return false, err
	}
	if versionOf(c) == r.version && !folded {
		return false, nil
	}
	now, ok, err := w.readAssignment(ctx)
	if err != nil {
		return false, err
	}
	r.version = versionOf(c)
	switch {
	case ok && now.Instance == r.instance:
		r.assigned, r.epoch = now, c.Epoch
		return true, nil
	case !folded:
		return false, nil
	case ok && now.Attempt > r.before && w.alive(ctx, now.Instance):
		return false, fmt.Errorf("task %s: %w: instance %s in attempt %s", w.cfg.Task, ErrSuperseded, now.Instance, now.Attempt)
	case c.Instance != r.first.instance:
		return false, fmt.Errorf("task %s, instance %s: %w", w.cfg.Task, r.instance, errForgotten)
	case r.passed.IsZero():
		r.passed = time.Now()
	case !r.warned && time.Since(r.passed) >= answerGrace:
		r.warned = true
		w.log.Warn().Msg("the coordinator has read the registration and assigned nothing yet; does it expect this task?")
	}
	return false, nil
}

// readAssignment reads the task's assignment, for as long as it takes; an error is the cause of ctx.
func (w *Worker) readAssignment(ctx context.Context) (eventlog.Assignment, bool, error) {
	for {
		now, ok, err := w.cfg.Log.Assignment(ctx, w.cfg.Task)
		if err == nil {
			return now, ok, nil
		}
		w.log.Warn().Err(err).Msg("read the assignment")
		if !w.pause(ctx) {
			return eventlog.Assignment{}, false, context.Cause(ctx)
		}
	}
}

// pause waits before something that failed is tried again, and reports whether ctx is still alive then.
func (w *Worker) pause(ctx context.Context) bool {
	return sleep(ctx, min(time.Second, w.cfg.PresenceTTL/3))
}

// alive reports whether the instance gives signs of life for the task; not if that cannot be read.
func (w *Worker) alive(ctx context.Context, instance events.InstanceID) bool {
	seen, err := w.cfg.Log.Presences(ctx, []events.TaskID{w.cfg.Task})
	return err == nil && seen[w.cfg.Task].Instance == instance
}

// host names this machine for the reader of the log.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
