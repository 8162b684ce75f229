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

// attempt is one run of the task. Its fields belong to the goroutine of run, unless said otherwise; the others send to it.
type attempt struct {
	*Worker
	log      zerolog.Logger
	assigned eventlog.Assignment
	pipeline Pipeline
	pulse    *pulse // shared with the goroutine that beats

	cuts    []cut                  // taken, and neither completed nor failed yet, oldest first
	untaken map[notice]bool        // notices that the pipeline has not taken yet, and that have been logged
	newest  order                  // of the newest checkpoint that was answered or given up
	cutting *cutting               // under way; nil if none
	stored  map[events.Digest]bool // chunks of the newest cut that was stored
	ended   bool                   // the input has ended and everything is flushed
	asked   asked                  // the newest request for a last checkpoint
	known   assignedVersion        // the assignments as of when ours was last read
	last    eventlog.Control

	// end ends the life of the attempt: the first cause counts. stop ends its work and leaves it time for last words.
	// Called from any goroutine.
	end, stop context.CancelCauseFunc
	// fallSilent ends the signs of life, and returns when none will follow.
	fallSilent func()

	// controls: sent by the follower, one place: it waits while the owner is busy, and skips to the newest by itself.
	controls chan eventlog.Control
	// answers: sent once by each cut's goroutine; one place, since there is one cut at a time.
	answers chan answer
	// processed: sent once by the pipeline's goroutine; one place.
	processed chan error
}

// order is the order of checkpoints over reigns. Ids alone rise as well, but for a log that lost its end and whose
// coordinator lost its memory.
type order struct {
	epoch events.Epoch
	id    events.CheckpointID
}

func orderOf(p eventlog.PendingCheckpoint) order { return order{p.Epoch, p.ID} }

func (o order) before(p order) bool { return o.epoch < p.epoch || o.epoch == p.epoch && o.id < p.id }

// assignedVersion tells when an assignment may have changed: with a new coordinator too, since its log may be another one.
type assignedVersion struct {
	epoch    events.Epoch
	instance events.InstanceID
	tasks    int64
}

func versionOf(c eventlog.Control) assignedVersion {
	return assignedVersion{c.Epoch, c.Instance, c.TasksVersion}
}

func newAttempt(w *Worker, log zerolog.Logger, r registration) *attempt {
	return &attempt{
		Worker: w, log: log, assigned: r.assigned, pulse: newPulse(),
		untaken:  make(map[notice]bool),
		newest:   order{r.epoch, r.assigned.Restore},
		last:     eventlog.Control{LatestCompleted: events.NoCheckpoint},
		controls: make(chan eventlog.Control, 1), answers: make(chan answer, 1), processed: make(chan error, 1),
	}
}

// run builds, restores, processes and answers checkpoints until the task has finished, something fails, or parent ends.
//
// There are two contexts. Work ends with parent; what is being stored then is still stored. Life goes on through
// these last words, so that nobody takes the worker for dead meanwhile, and ends when the attempt may write nothing more.
func (a *attempt) run(parent context.Context) error {
	life, end := context.WithCancelCause(context.WithoutCancel(parent))
	work, stop := context.WithCancelCause(life)
	a.end, a.stop = end, stop
	defer context.AfterFunc(parent, func() { stop(context.Cause(parent)) })()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end(nil)
	beating, quiet := context.WithCancel(life)
	silent := make(chan struct{}) // closed when the last sign of life has been given
	wg.Go(func() { defer close(silent); a.beat(beating) })
	a.fallSilent = func() { quiet(); <-silent }
	err := a.process(work, life, &wg)
	stop(err)
	a.leave(life, err, parent.Err() != nil)
	if life.Err() != nil {
		return context.Cause(life)
	}
	return err
}

// process is the work.
func (a *attempt) process(ctx, life context.Context, wg *sync.WaitGroup) error {
	err := a.build()
	if err == nil {
		err = a.restore(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	a.pulse.phase.Store(phaseRunning)
	wg.Go(func() { a.processed <- a.pipeline.Run(ctx) })
	wg.Go(func() { a.follow(life) })
	return a.loop(ctx, life, wg)
}

func (a *attempt) build() error {
	p, err := a.cfg.Build(Start{
		Job: a.cfg.Log.Job(), Task: a.cfg.Task, Index: a.cfg.Index, Count: a.cfg.Count,
		Attempt: a.assigned.Attempt, Restore: a.assigned.Restore,
	})
	if err == nil && p == nil {
		err = errors.New("it is nil")
	}
	if err != nil {
		return fmt.Errorf("build the pipeline of task %s: %w", a.cfg.Task, err)
	}
	a.pipeline = p
	a.pulse.pipeline.Store(&p)
	return nil
}

// loop owns the attempt.
func (a *attempt) loop(ctx, life context.Context, wg *sync.WaitGroup) error {
	again := time.NewTicker(time.Second) // repeats what did not succeed: a commit, a request for the last checkpoint
	defer again.Stop()
	for {
		select {
		case a.last = <-a.controls:
		case ans := <-a.answers:
			a.answered(ans)
		case err := <-a.processed:
			if err := a.inputEnded(ctx, err); err != nil {
				return err
			}
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done, err := a.level(ctx, life, wg); done || err != nil {
			return err
		}
	}
}

// inputEnded notes how the pipeline's run ended. An error that only says that ctx ended gives way to the cause.
func (a *attempt) inputEnded(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		a.ended = true
		a.pulse.phase.Store(phaseFinishing)
		a.log.Info().Func(counts(a.pipeline.Progress())).Msg("input has ended; waiting for one more completed checkpoint")
		return nil
	case cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)):
		return cause
	case noRetry(err) && !errors.Is(err, ErrCommit):
		return fmt.Errorf("task %s, attempt %s: %w: %w", a.cfg.Task, a.assigned.Attempt, ErrCommit, err)
	default:
		return fmt.Errorf("task %s, attempt %s: %w", a.cfg.Task, a.assigned.Attempt, err)
	}
}

// level brings the attempt level with the coordinator's newest state. done says that the task has finished.
func (a *attempt) level(ctx, life context.Context, wg *sync.WaitGroup) (done bool, err error) {
	if err := a.checkShare(a.last); err != nil {
		return false, err
	}
	if err := a.stillAssigned(ctx); err != nil {
		return false, err
	}
	final, ok, err := a.notify(ctx)
	switch {
	case err != nil:
		return false, err
	case ok:
		return true, a.finish(ctx, final)
	}
	a.start(life, wg)
	a.askForLast(ctx)
	return false, nil
}

// stillAssigned looks at the assignment when any may have changed. A later attempt of the task voids this one; and a
// coordinator that does not know this attempt (its log has lost it) will not wait for it.
func (a *attempt) stillAssigned(ctx context.Context) error {
	newest := versionOf(a.last)
	if newest == a.known {
		return nil
	}
	now, ok, err := a.cfg.Log.Assignment(ctx, a.cfg.Task)
	mine := ok && now.Instance == a.assigned.Instance
	switch {
	case err != nil:
		a.log.Warn().Err(err).Msg("read the assignment")
		return nil // it is read again in a second
	case ok && !mine && now.Attempt >= a.assigned.Attempt:
		return a.lost(fmt.Errorf("%w: instance %s in attempt %s", ErrSuperseded, now.Instance, now.Attempt))
	case !mine || now.Attempt != a.assigned.Attempt:
		return a.lost(errForgotten)
	case now.Phase == phaseLost:
		return a.lost(fmt.Errorf("%w: the coordinator has declared it lost", errLapsed))
	}
	a.known = newest
	return nil
}

// phaseLost is how the coordinator's assignment calls an attempt that it has given up.
const phaseLost = "lost"

// lost names the attempt in the reason why it is over.
func (a *attempt) lost(reason error) error {
	return fmt.Errorf("task %s, attempt %s: %w", a.cfg.Task, a.assigned.Attempt, reason)
}
