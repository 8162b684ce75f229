package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	// ErrCommit: the output of a completed checkpoint cannot be committed, now or ever: a file is in its place, or what had been
	// written is gone ([engine.ErrOutputExists], [engine.ErrLost]). A person must look. A [Pipeline] of one's own wraps it to say
	// the same; what it returns without it is tried again.
	ErrCommit = errors.New("output cannot be committed")
	// ErrShare: the worker was told another number of shares than the coordinator expects tasks. Nothing is processed then,
	// or no further: with fewer tasks than shares part of the input would be missing without a word.
	ErrShare = errors.New("the number of tasks differs")
	// errLapsed: nobody could have seen a sign of life of this attempt for longer than it lives. Unless another process has
	// taken up the task meanwhile, the worker registers anew.
	errLapsed = errors.New("no sign of life")
	// errDamaged: the store does not hold the restore point as it was written, and the log says so now. The worker registers anew.
	errDamaged = errors.New("the restore point is damaged")
	// errForgotten: the coordinator's log does not hold this registration any more. The worker registers anew.
	errForgotten = errors.New("the coordinator does not know this attempt")
)

// Worker works on one task of a job.
type Worker struct {
	cfg     Config
	counted bool // Count was set, so it must be the number of tasks
	log     zerolog.Logger

	reported events.CheckpointID // the restore point that was last said to be damaged; of the goroutine of Run

	hurry     chan struct{} // closed by the first Hurry; nobody sends
	hurryOnce sync.Once
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Worker, error) {
	counted := cfg.Count != 0
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	log := cfg.Logger.With().Stringer("job", cfg.Log.Job()).Stringer("task", cfg.Task).Logger()
	return &Worker{cfg: cfg, counted: counted, log: log, reported: events.NoCheckpoint, hurry: make(chan struct{})}, nil
}

// Hurry makes a shutdown wait for nothing: a cut that is being stored is given up and declined. It does not begin one, and
// does not wait for it. It may be called from any goroutine and any number of times.
func (w *Worker) Hurry() { w.hurryOnce.Do(func() { close(w.hurry) }) }

// Run registers, restores and processes until the input has ended and a completed checkpoint holds the end state; then it
// returns nil. With [engine.Adopt] it returns nil at once, without registering, if an earlier run has come that far. It returns nil
// too when ctx ends: it then stops between two records and waits up to DrainTimeout for a cut
// that is being stored. An attempt whose presence lapsed, or that the coordinator's log has lost, or whose restore point is
// damaged, is given up, and the task registers anew, unless another process has it by then, or the restore point is the same. Any other error ends Run: one of the job's own functions (an
// [engine.OperatorError]), [ErrSuperseded], [ErrRestore], [ErrCommit], [ErrShare]. Call it once.
func (w *Worker) Run(ctx context.Context) error {
	said := make(chan struct{}) // closed when the line is out
	unwatch := context.AfterFunc(ctx, func() {
		defer close(said)
		w.log.Info().AnErr("cause", context.Cause(ctx)).Msg("stopping")
	})
	err := w.attempts(ctx)
	if !unwatch() {
		<-said
		w.log.Info().Msg("stopped")
	}
	return err
}

// attempts runs one attempt after another, until one is not followed by another. There is none if the task has finished before.
func (w *Worker) attempts(ctx context.Context) error {
	if w.nothingLeft(ctx) {
		return nil
	}
	for {
		assigned, err := w.attempt(ctx)
		if errors.Is(err, errLapsed) && ctx.Err() == nil {
			if taken := w.lookAround(ctx, assigned); taken != nil {
				err = taken
			}
		}
		switch {
		case err == nil, errors.Is(err, ErrSuperseded):
			return err
		case ctx.Err() != nil && (isVoid(err) || endedBy(ctx, err)):
			return nil
		case isVoid(err):
			w.log.Warn().Err(err).Msg("registering anew")
		default:
			sayStack(w.log, err)
			return err
		}
	}
}

// endedBy reports whether err says no more than that ctx has ended.
func endedBy(ctx context.Context, err error) bool {
	return errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())
}

// attempt is one registration of the task and what follows from it.
func (w *Worker) attempt(ctx context.Context) (eventlog.Assignment, error) {
	r, err := w.register(ctx)
	if err != nil {
		return r.assigned, err
	}
	log := w.log.With().Int64("attempt", int64(r.assigned.Attempt)).Logger()
	log.Info().Stringer("restore", r.assigned.Restore).Msg("registered")
	return r.assigned, newAttempt(w, log, r).run(ctx)
}

func (w *Worker) publish(ctx context.Context, e events.Event) error {
	env := events.Envelope{ID: eventlog.NewEventID(), Job: w.cfg.Log.Job(), At: time.Now().UnixMilli(), Event: e}
	err := w.cfg.Log.Publish(ctx, env)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if err != nil {
		return fmt.Errorf("publish %s of task %s: %w", e.Kind(), w.cfg.Task, err)
	}
	return nil
}

func (w *Worker) followOptions() eventlog.FollowOptions {
	return eventlog.FollowOptions{OnRetry: func(err error, wait time.Duration) {
		w.log.Warn().Err(err).Dur("again_in_ms", wait).Msg("read the control feed")
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
