package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// cut is a snapshot that was taken, whatever became of storing it.
type cut struct {
	order
	after bool // taken when the input had ended
}

// notify tells the pipeline what became of its cuts, and repeats what the pipeline did not manage. It returns the
// completed checkpoint that holds the end state, if there is one. An error ends the attempt: [ErrCommit].
//
// Only a completed checkpoint that this attempt has cut commits anything: one forced by hand without our ack covers
// nothing of ours. What is pending no more and is not the newest completed one counts as failed, a savepoint too: its cut
// stays in the next one.
func (a *attempt) notify(ctx context.Context) (final events.CheckpointID, finished bool, err error) {
	if len(a.cuts) == 0 || a.lapsed() {
		return events.NoCheckpoint, false, nil
	}
	latest := a.last.LatestCompleted
	if i := slices.IndexFunc(a.cuts, func(c cut) bool { return c.id == latest && !a.pending(c.order) }); i >= 0 {
		err := a.commit(ctx, latest)
		if a.tells("commit", latest, err); err != nil {
			return events.NoCheckpoint, false, a.hopeless(err)
		}
		a.log.Debug().Stringer("checkpoint", latest).Msg("committed")
		final, finished = latest, a.cuts[i].after
		a.cuts = slices.Delete(a.cuts, 0, i+1)
	}
	a.cuts = slices.DeleteFunc(a.cuts, func(c cut) bool {
		if a.pending(c.order) {
			return false
		}
		err := a.pipeline.Failed(ctx, int64(c.id))
		a.tells("tell the pipeline that a checkpoint failed", c.id, err)
		return err == nil
	})
	return final, finished, nil
}

// commit commits a completed checkpoint. An error that says that no repetition will help is an [ErrCommit].
func (a *attempt) commit(ctx context.Context, id events.CheckpointID) error {
	err := a.pipeline.Completed(ctx, int64(id))
	if noRetry(err) {
		return fmt.Errorf("%w: checkpoint %s: %w", ErrCommit, id, err)
	}
	return err
}

// noRetry says of an error of a sink that a repetition is of no use, nor a restart.
func noRetry(err error) bool {
	return errors.Is(err, engine.ErrOutputExists) || errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrFenced) ||
		errors.Is(err, ErrCommit)
}

// hopeless is the error of a commit if it ends the attempt; nil if the commit is tried again.
func (a *attempt) hopeless(err error) error {
	if !errors.Is(err, ErrCommit) {
		return nil
	}
	return a.lost(err)
}

// notice is one that the pipeline did not take.
type notice struct {
	doing string
	id    events.CheckpointID
}

// tells logs the first failure of a notice, and its success if there was one: it is repeated every second, and a disk that is
// full stays so for long.
func (a *attempt) tells(doing string, id events.CheckpointID, err error) {
	n := notice{doing, id}
	switch {
	case err == nil && a.untaken[n]:
		delete(a.untaken, n)
		a.log.Info().Stringer("checkpoint", id).Msg(doing + ": done after all")
	case err != nil && !a.untaken[n] && !errors.Is(err, ErrCommit):
		a.untaken[n] = true
		a.log.Error().Err(err).Stringer("checkpoint", id).Msg(doing + "; it is tried again until it is done")
	}
}

// pending reports whether the newest state waits for the checkpoint.
func (a *attempt) pending(o order) bool {
	return slices.ContainsFunc(a.last.Pending, func(p eventlog.PendingCheckpoint) bool { return orderOf(p) == o })
}

// lastRetry is how long a task that has read all its input waits for a checkpoint before it asks again, at the least.
const lastRetry = 5 * time.Second

// asked is a request for a last checkpoint.
type asked struct {
	request events.RequestID
	when    time.Time
	arrived bool
	before  stateID // the newest state when it was made
}

// askForLast asks for the checkpoint that holds the end state: a job without an interval would never have one. Nothing is
// asked for while any is pending: when that one ends, what has been asked for by others may serve this task too. A request
// that is in the log stands there until a coordinator answers it, so the next is made only when the coordinator has shown
// life since; one that may not have arrived is said again under its id.
func (a *attempt) askForLast(ctx context.Context) {
	waiting := a.cutting != nil || len(a.last.Pending) > 0 || slices.ContainsFunc(a.cuts, func(c cut) bool { return c.after })
	newest := stateOf(a.last)
	if !a.ended || waiting || newest == (stateID{}) || time.Since(a.asked.when) < lastRetry {
		return // with no state read yet the first would look like life
	}
	if a.asked.request == "" || newest != a.asked.before {
		a.asked = asked{request: "last-" + events.RequestID(eventlog.NewInstanceID()), before: newest}
	}
	if a.asked.arrived {
		return
	}
	a.asked.when = time.Now()
	e := &events.CheckpointRequested{
		Request: a.asked.request, Type: events.TypeCheckpoint,
		Cause: "end of input", By: fmt.Sprintf("task %s attempt %s", a.cfg.Task, a.assigned.Attempt),
	}
	ctx, cancel := context.WithTimeout(ctx, lastRetry)
	defer cancel()
	if err := a.publish(ctx, e); err != nil {
		a.log.Warn().Err(err).Msg("ask for the last checkpoint")
		return
	}
	a.asked.arrived = true
}

// finish says that the end state is in a completed checkpoint, after a last sign of life with the final progress: it is
// what the reader sees of the task from then on.
func (a *attempt) finish(ctx context.Context, final events.CheckpointID) error {
	a.lastBeat(ctx)
	e := &events.TaskFinished{Task: a.cfg.Task, Attempt: a.assigned.Attempt, Checkpoint: final}
	if err := a.publish(ctx, e); err != nil {
		return err
	}
	a.log.Info().Stringer("checkpoint", final).Func(counts(a.pipeline.Progress())).Msg("finished")
	return nil
}
