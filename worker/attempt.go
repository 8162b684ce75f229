package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// attempt is one run of the task. Its fields belong to the goroutine of run; the others only send to it.
type attempt struct {
	*Worker
	log      zerolog.Logger
	assigned eventlog.Assignment
	pipeline Pipeline

	cuts      []events.CheckpointID // taken, and neither completed nor failed yet, ascending
	newest    events.CheckpointID   // the newest that was answered
	completed events.CheckpointID   // the newest that the pipeline was told of
	cutting   *cutting              // under way; nil if none
	ended     bool                  // the input has ended and everything is flushed
	endCut    events.CheckpointID   // the first cut after that
	asked     time.Time             // when a last checkpoint was last asked for
	version   int64                 // of the assignments, when ours was last read
	last      eventlog.Control      // the newest state seen

	// controls: sent by the follower, one place: it waits while the owner is busy, and skips to the newest by itself.
	controls chan eventlog.Control
	// answers: sent once by each cut's goroutine; one place, since there is one cut at a time.
	answers chan answer
	// processed: sent once by the pipeline's goroutine; one place.
	processed chan error
	// lost: sent by the goroutine that beats and by the follower; two places, each sends once.
	lost chan error
}

// cutting is a checkpoint that is being taken.
type cutting struct {
	pending eventlog.PendingCheckpoint
	after   bool // started when the input had ended
	cancel  context.CancelFunc
}

func newAttempt(w *Worker, log zerolog.Logger, assigned eventlog.Assignment, p Pipeline) *attempt {
	return &attempt{
		Worker: w, log: log, assigned: assigned, pipeline: p,
		newest: assigned.Restore, completed: assigned.Restore, endCut: events.NoCheckpoint,
		last:     eventlog.Control{LatestCompleted: events.NoCheckpoint},
		controls: make(chan eventlog.Control, 1), answers: make(chan answer, 1),
		processed: make(chan error, 1), lost: make(chan error, 2),
	}
}

// run restores, processes and answers checkpoints until the task has finished, something fails, or ctx ends.
func (a *attempt) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { a.beat(ctx, "restoring") })
	if err := a.restore(ctx); err != nil {
		select {
		case lost := <-a.lost:
			return lost
		default:
			return err
		}
	}
	wg.Go(func() { a.processed <- a.pipeline.Run(ctx) })
	wg.Go(func() { a.follow(ctx) })
	err := a.loop(ctx, &wg)
	cancel(err)
	a.leave(context.WithoutCancel(parent), err, parent.Err() != nil)
	return err
}

// loop owns the attempt.
func (a *attempt) loop(ctx context.Context, wg *sync.WaitGroup) error {
	again := time.NewTicker(time.Second) // looks whether the last checkpoint must be asked for again
	defer again.Stop()
	for {
		select {
		case a.last = <-a.controls:
			if done, err := a.level(ctx, wg); done || err != nil {
				return err
			}
		case ans := <-a.answers:
			a.answered(ans)
			a.start(ctx, wg)
		case err := <-a.processed:
			if err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fmt.Errorf("task %s, attempt %s: %w", a.cfg.Task, a.assigned.Attempt, err)
			}
			a.ended = true
			a.log.Info().Msg("input has ended; waiting for one more completed checkpoint")
			a.askForLast(ctx)
		case <-again.C:
			a.notify(ctx)
			a.askForLast(ctx)
		case err := <-a.lost:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// level brings the attempt level with the coordinator's state. done says that the task has finished.
func (a *attempt) level(ctx context.Context, wg *sync.WaitGroup) (done bool, err error) {
	if err := a.stillAssigned(ctx); err != nil {
		return false, err
	}
	a.notify(ctx)
	if a.endCut != events.NoCheckpoint && a.completed >= a.endCut {
		return true, a.finish(ctx)
	}
	a.start(ctx, wg)
	return false, nil
}

// stillAssigned looks at the assignment when any has changed. A later attempt of the task voids this one.
func (a *attempt) stillAssigned(ctx context.Context) error {
	if a.last.TasksVersion == a.version {
		return nil
	}
	now, ok, err := a.cfg.Log.Assignment(ctx, a.cfg.Task)
	switch {
	case err != nil:
		a.log.Warn().Err(err).Msg("read the assignment")
		return nil // the presence tells the same, later
	case ok && now.Attempt > a.assigned.Attempt:
		return fmt.Errorf("task %s, attempt %s: %w: instance %s in attempt %s",
			a.cfg.Task, a.assigned.Attempt, ErrSuperseded, now.Instance, now.Attempt)
	case ok && now.Attempt == a.assigned.Attempt && now.Phase == phaseLost:
		return fmt.Errorf("task %s, attempt %s: %w: the coordinator has declared it lost", a.cfg.Task, a.assigned.Attempt, errLapsed)
	}
	a.version = a.last.TasksVersion
	return nil
}

// phaseLost is how the coordinator's assignment calls an attempt that it has given up.
const phaseLost = "lost"

// notify tells the pipeline what became of its cuts.
func (a *attempt) notify(ctx context.Context) {
	c := a.last
	if c.LatestCompleted > a.completed {
		if err := a.pipeline.Completed(ctx, int64(c.LatestCompleted)); err != nil {
			a.log.Error().Err(err).Stringer("checkpoint", c.LatestCompleted).Msg("commit; it is tried again with the next state")
			return
		}
		a.completed = c.LatestCompleted
		a.log.Debug().Stringer("checkpoint", c.LatestCompleted).Msg("committed")
	}
	a.cuts = slices.DeleteFunc(a.cuts, func(id events.CheckpointID) bool {
		if id <= a.completed {
			return true
		}
		if slices.ContainsFunc(c.Pending, func(p eventlog.PendingCheckpoint) bool { return p.ID == id }) {
			return false
		}
		if err := a.pipeline.Failed(ctx, int64(id)); err != nil {
			a.log.Error().Err(err).Stringer("checkpoint", id).Msg("tell the pipeline that a checkpoint failed")
		}
		return true
	})
}

// start begins the oldest pending checkpoint that has not been answered, and gives up one that is pending no more. A
// worker that was held up through many failed ones finds only the living in the state, so it starts none of the dead.
func (a *attempt) start(ctx context.Context, wg *sync.WaitGroup) {
	c := a.last
	if a.cutting != nil {
		id := a.cutting.pending.ID
		if !slices.ContainsFunc(c.Pending, func(p eventlog.PendingCheckpoint) bool { return p.ID == id }) {
			a.cutting.cancel()
		}
		return
	}
	for _, p := range c.Pending {
		if p.ID <= a.newest {
			continue
		}
		cutCtx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a shutdown waits for it
		a.cutting = &cutting{pending: p, after: a.ended, cancel: cancel}
		wg.Go(func() { a.answers <- a.checkpoint(cutCtx, p) })
		return
	}
}

// answered notes the end of a cut and goes on with the newest state.
func (a *attempt) answered(ans answer) {
	c := a.cutting
	c.cancel()
	a.cutting = nil
	a.newest = max(a.newest, c.pending.ID)
	if !ans.acked {
		return
	}
	a.cuts = append(a.cuts, c.pending.ID)
	if c.after && a.endCut == events.NoCheckpoint {
		a.endCut = c.pending.ID
	}
}

// lastRetry is how long a task that has read all its input waits for a checkpoint before it asks again.
const lastRetry = 5 * time.Second

// askForLast asks for the checkpoint that holds the end state: a job without an interval would never have one.
func (a *attempt) askForLast(ctx context.Context) {
	if !a.ended || a.endCut != events.NoCheckpoint || a.cutting != nil || time.Since(a.asked) < lastRetry {
		return
	}
	a.asked = time.Now()
	e := &events.CheckpointRequested{
		Request: "last-" + events.RequestID(eventlog.NewInstanceID()), Type: events.TypeCheckpoint,
		Cause: "end of input", By: fmt.Sprintf("task %s attempt %s", a.cfg.Task, a.assigned.Attempt),
	}
	publishCtx, cancel := context.WithTimeout(ctx, lastRetry)
	defer cancel()
	if err := a.publish(publishCtx, e); err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("ask for the last checkpoint")
	}
}

// finish says that the end state is in a completed checkpoint.
func (a *attempt) finish(ctx context.Context) error {
	e := &events.TaskFinished{Task: a.cfg.Task, Attempt: a.assigned.Attempt, Checkpoint: a.completed}
	if err := a.publish(ctx, e); err != nil {
		return err
	}
	a.log.Info().Stringer("checkpoint", a.completed).Msg("finished")
	return nil
}
