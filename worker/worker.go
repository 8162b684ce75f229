package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Errors of [Worker.Run].
var (
	// ErrSuperseded: another process has taken up the task. This one has stopped writing.
	ErrSuperseded = errors.New("another worker has taken up the task")
	// ErrRestore: the restore point cannot be put in place. Starting without it would lose state, so the worker does not.
	ErrRestore = errors.New("restore failed")
	// errLapsed: nobody could have seen a sign of life of this attempt for longer than it lives. The worker registers anew.
	errLapsed = errors.New("presence lapsed")
)

// Worker works on one task of a job.
type Worker struct {
	cfg Config
	log zerolog.Logger
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	log := cfg.Logger.With().Stringer("job", cfg.Log.Job()).Stringer("task", cfg.Task).Logger()
	return &Worker{cfg: cfg, log: log}, nil
}

// Run registers, restores and processes until the input has ended and a completed checkpoint holds the end state; then it
// returns nil. It returns nil too when ctx ends: it then stops between two records and waits up to DrainTimeout for a cut
// that is being stored. An attempt whose presence lapsed is given up, and the task registers anew. Any other error ends
// it: one of the job's own functions, [ErrSuperseded], [ErrRestore].
func (w *Worker) Run(ctx context.Context) error {
	for {
		err := w.attempt(ctx)
		switch {
		case errors.Is(err, errLapsed) && ctx.Err() == nil:
			w.log.Warn().Err(err).Msg("no sign of life could be given for too long; registering anew")
		case err != nil && ctx.Err() != nil && !errors.Is(err, ErrSuperseded) && errors.Is(err, context.Cause(ctx)):
			return nil
		default:
			return err
		}
	}
}

// attempt is one registration of the task and what follows from it.
func (w *Worker) attempt(ctx context.Context) error {
	instance := "worker-" + eventlog.NewInstanceID()
	assigned, err := w.register(ctx, instance)
	if err != nil {
		return err
	}
	log := w.log.With().Int64("attempt", int64(assigned.Attempt)).Logger()
	log.Info().Stringer("restore", assigned.Restore).Msg("registered")
	pipeline, err := w.cfg.Build(Start{
		Job: w.cfg.Log.Job(), Task: w.cfg.Task, Index: w.cfg.Index, Count: w.cfg.Count,
		Attempt: assigned.Attempt, Restore: assigned.Restore,
	})
	if err != nil {
		return fmt.Errorf("build the pipeline of task %s: %w", w.cfg.Task, err)
	}
	a := newAttempt(w, log, assigned, pipeline)
	return a.run(ctx)
}

// register announces the instance and waits until the coordinator has given it an attempt.
func (w *Worker) register(ctx context.Context, instance events.InstanceID) (eventlog.Assignment, error) {
	err := w.cfg.Log.Beat(ctx, w.cfg.Task, eventlog.Presence{Instance: instance, Phase: "registering"}, w.cfg.PresenceTTL)
	if err != nil {
		w.log.Warn().Err(err).Msg("give a sign of life before registering")
	}
	e := &events.TaskRegistered{Task: w.cfg.Task, Instance: instance, Host: host(), PID: int64(os.Getpid())}
	if err := w.publish(ctx, e); err != nil {
		return eventlog.Assignment{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beats := make(chan struct{}) // closed by the goroutine below when it has ended
	go func() {
		defer close(beats)
		w.beatUntilAssigned(ctx, instance)
	}()
	defer func() { cancel(); <-beats }()
	return w.awaitAssignment(ctx, instance)
}

// beatUntilAssigned keeps a registration alive that the coordinator takes its time to answer.
func (w *Worker) beatUntilAssigned(ctx context.Context, instance events.InstanceID) {
	for sleep(ctx, w.cfg.PresenceTTL/3) {
		p := eventlog.Presence{Instance: instance, Phase: "registering"}
		if err := w.cfg.Log.Beat(ctx, w.cfg.Task, p, w.cfg.PresenceTTL); err != nil && ctx.Err() == nil {
			w.log.Warn().Err(err).Msg("give a sign of life")
		}
	}
}

// awaitAssignment looks at the task's assignment after each change of the control state, which points to it.
func (w *Worker) awaitAssignment(ctx context.Context, instance events.InstanceID) (eventlog.Assignment, error) {
	w.log.Info().Str("instance", instance.String()).Msg("waiting for the coordinator")
	seen := int64(-1)
	for control, err := range w.cfg.Log.FollowControl(ctx, w.followOptions()) {
		if err != nil {
			return eventlog.Assignment{}, fmt.Errorf("follow the control feed: %w", err)
		}
		if control.TasksVersion == seen {
			continue
		}
		a, ok, err := w.cfg.Log.Assignment(ctx, w.cfg.Task)
		switch {
		case err != nil:
			w.log.Warn().Err(err).Msg("read the assignment")
			continue
		case ok && a.Instance == instance:
			return a, nil
		}
		seen = control.TasksVersion
	}
	return eventlog.Assignment{}, context.Cause(ctx)
}

func (w *Worker) publish(ctx context.Context, e events.Event) error {
	env := events.Envelope{ID: eventlog.NewEventID(), Job: w.cfg.Log.Job(), At: time.Now().UnixMilli(), Event: e}
	if err := w.cfg.Log.Publish(ctx, env); err != nil {
		return fmt.Errorf("publish %s of task %s: %w", e.Kind(), w.cfg.Task, err)
	}
	return nil
}

func (w *Worker) followOptions() eventlog.FollowOptions {
	return eventlog.FollowOptions{OnRetry: func(err error, wait time.Duration) {
		w.log.Warn().Err(err).Dur("again_in", wait).Msg("read the control feed")
	}}
}

// sleep waits and reports whether ctx is still alive then.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
