package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

const (
	keyExamine   = "examine:"
	momentOfLife = time.Millisecond // the shortest that a chunk can be given
)

// inquest is a look at a restore point that tasks doubt, or that somebody wants withdrawn.
type inquest struct {
	projection.Examine
	// doubts are the attempts whose word it is; none for a request.
	doubts []taskRun
	// points are the restore point in question and, if it is the newest, the older ones behind it, newest first.
	points []projection.Checkpoint
	// newer says that a newer one is kept, so that tasks that register now are given that one.
	newer bool
}

// examine starts the look. Nobody's word is believed: what is withdrawn is what this coordinator could not read itself.
// What it has looked at for one attempt it does not look at again for that attempt in this reign.
func (l *loop) examine(r *reign, d projection.Examine) {
	q := inquest{Examine: d, doubts: l.unexamined(r, d)}
	k := fmt.Sprint(keyExamine, d.ID, ":", d.Request)
	if d.Request == "" && len(q.doubts) == 0 || !l.storeLane.ready(l.clock(), k) {
		return
	}
	for _, cp := range slices.Backward(l.state.Completed()) {
		if cp.ID <= d.ID {
			q.points = append(q.points, cp)
		}
		q.newer = q.newer || cp.ID > d.ID
	}
	if q.newer {
		q.points = q.points[:min(len(q.points), 1)]
	}
	l.storeLane.start(r.ctx, l.clock(), k, func(ctx context.Context) result { return l.inquire(ctx, r, q) })
}

// stays is the result of a look that withdraws nothing: assignments waited for it. (A withdrawal ends the doubts when it is read
// back.)
func (q inquest) stays(r *reign) result {
	return result{done: func(*loop) {
		for _, run := range q.doubts {
			r.examined[run] = true
		}
		r.stale, r.tasksStale = true, true
	}}
}

// unexamined are the attempts that doubt the checkpoint and whose doubt nobody has looked into in this reign.
func (l *loop) unexamined(r *reign, d projection.Examine) (runs []taskRun) {
	for _, id := range d.Tasks {
		if t, ok := l.state.Task(id); ok && !r.examined[taskRun{id, t.Doubt.Attempt}] {
			runs = append(runs, taskRun{id, t.Doubt.Attempt})
		}
	}
	return runs
}

// doubted are the restore points that are still to be looked at: nobody is given one of them meanwhile.
func (l *loop) doubted(r *reign, tasks []projection.Task) map[events.CheckpointID]bool {
	ids := make(map[events.CheckpointID]bool)
	for _, t := range tasks {
		if !t.Doubt.IsZero() && !r.examined[taskRun{t.ID, t.Doubt.Attempt}] {
			ids[t.Doubt.Checkpoint] = true
		}
	}
	return ids
}

// inquire looks, and withdraws or refuses.
func (l *loop) inquire(ctx context.Context, r *reign, q inquest) result {
	bad, why, err := l.unreadable(ctx, r, q)
	if err != nil {
		return l.failed(r, fmt.Sprintf("read the state of checkpoint %s, which is in doubt", q.ID), err)
	}
	left := q.newer || len(bad) < len(q.points)
	line := l.log.Error().Stringer("checkpoint", q.ID).Str("why", why)
	switch {
	case len(bad) == 0:
		if q.Request != "" {
			return l.refuseWithdrawal(ctx, r, q, events.RefusedRestorable,
				fmt.Sprintf("nothing is wrong with the state of checkpoint %s; force it if it is to go all the same", q.ID))
		}
		l.log.Warn().Stringer("checkpoint", q.ID).Str("tasks", nameSome(q.Tasks)).
			Msg("a task could not restore a checkpoint, but its state can be read")
		return q.stays(r)
	case !left && q.Request != "" && !q.ToNothing:
		return l.refuseWithdrawal(ctx, r, q, events.RefusedNothingOlder,
			fmt.Sprintf("%s; no other completed checkpoint can be read; allow tasks to start from nothing, or forget the job", why))
	case !left && q.Request == "":
		line.Msgf("no completed checkpoint can be restored; a person must decide: coordinator withdraw %s --to-nothing", q.ID)
		return q.stays(r)
	case q.Request == "" && !l.cfg.FallBack:
		line.Msgf("a checkpoint cannot be restored; an older one can: coordinator withdraw %s", q.ID)
		return q.stays(r)
	}
	line.Interface("withdrawn", bad).Msg("withdrawing a checkpoint that cannot be restored")
	at, err := l.append(ctx, r, &events.CheckpointsWithdrawn{
		Epoch: r.term.Epoch(), Checkpoints: bad, Why: why, Request: q.Request, ToNothing: !left,
	})
	return l.appended(r, at, err)
}

func (l *loop) refuseWithdrawal(ctx context.Context, r *reign, q inquest, reason events.RefusalReason, remedy string) result {
	at, err := l.append(ctx, r, &events.RequestRefused{
		Epoch: r.term.Epoch(), Request: q.Request, Reason: reason, Remedy: remedy,
	})
	return l.appended(r, at, err)
}

// unreadable lists, ascending, the restore point if it cannot be read, and those behind it down to the first that can; why
// says what is wrong with the first.
func (l *loop) unreadable(ctx context.Context, r *reign, q inquest) (bad []events.CheckpointID, why string, err error) {
	for _, cp := range q.points {
		fault, err := l.inspect(ctx, r, cp, q.Tasks)
		if err != nil {
			return nil, "", err
		}
		if first := cp.ID == q.ID; first && q.Forced {
			fault = cmp.Or(fault, "by force: nothing is wrong with its state")
		}
		if fault == "" {
			break
		}
		bad, why = append(bad, cp.ID), cmp.Or(why, fault)
	}
	if q.Cause != "" {
		why = q.Cause + ": " + why
	}
	slices.Sort(bad)
	return bad, why, nil
}

// inspect reads the state that the tasks (none: all of them) have put into a checkpoint and says what is wrong with it; empty
// if nothing is. A record that is gone or damaged is nothing wrong: the log has all that was in it, and it is written anew.
func (l *loop) inspect(ctx context.Context, r *reign, cp projection.Checkpoint, tasks []events.TaskID) (string, error) {
	all := gather(cp)
	if err := l.within(ctx, func(ctx context.Context) error { return l.mark(ctx, r, cp, all) }); err != nil {
		return "", err
	}
	var faults []string
	of := all.of(tasks)
	for _, d := range of.digests {
		switch err := l.readChunk(ctx, r, d); {
		case errors.Is(err, store.ErrChunkMissing), errors.Is(err, store.ErrCorrupt):
			faults = append(faults, fmt.Sprintf("%s (%.12s…): %v", of.owners[d], d, err))
		case err != nil:
			return "", err
		}
	}
	if len(faults) == 0 {
		return "", nil
	}
	const most = 5
	text := fmt.Sprintf("%d of %d chunks cannot be read: %s", len(faults), len(of.digests), strings.Join(faults[:min(len(faults), most)], ", "))
	if len(faults) > most {
		text += ", …"
	}
	return text, nil
}

// readChunk reads one chunk and compares its content with its name. A store without chunks cannot tell.
func (l *loop) readChunk(ctx context.Context, r *reign, digest string) error {
	if r.chunks == nil {
		return nil
	}
	return l.within(ctx, func(ctx context.Context) error {
		_, err := r.chunks.GetChunk(ctx, digest)
		return err
	})
}

// within bounds one access of the store.
func (l *loop) within(ctx context.Context, access func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	return access(ctx)
}

// purge gives the damaged chunks of withdrawn checkpoints a life of a moment, whoever refers to them: a chunk that is there
// is not sent again, so the same content would find the same damage in the next checkpoint.
func (l *loop) purge(ctx context.Context, r *reign, withdrawn []projection.Checkpoint) error {
	var damaged []string
	for _, cp := range withdrawn {
		for _, d := range gather(cp).digests {
			switch err := l.readChunk(ctx, r, d); {
			case errors.Is(err, store.ErrCorrupt):
				damaged = append(damaged, d)
			case err != nil && !errors.Is(err, store.ErrChunkMissing):
				return fmt.Errorf("read the state of withdrawn checkpoint %s: %w", cp.ID, err)
			}
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	l.log.Warn().Strs("chunks", damaged).Msg("removing damaged chunks")
	return l.within(ctx, func(ctx context.Context) error { return r.chunks.Release(ctx, damaged, momentOfLife) })
}
