package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// damage is a reason not to restore that the store can be asked about again: state that is gone, or is not what it was when
// it was stored. A connection, a schema, a limit and a file of the worker's are none.
type damage struct {
	reason events.RestoreFailure
	err    error
}

func (d *damage) Error() string { return d.err.Error() }
func (d *damage) Unwrap() error { return d.err }

// damaged tells damage from what else can go wrong while the store is read.
func damaged(err, missing error, ifMissing, ifCorrupt events.RestoreFailure) error {
	switch {
	case errors.Is(err, missing):
		return &damage{ifMissing, err}
	case errors.Is(err, store.ErrCorrupt):
		return &damage{ifCorrupt, err}
	}
	return err
}

// unrestored says what is wrong with the restore point, and lets the worker register anew: the coordinator looks for itself
// before it gives anybody that restore point again, so the next one is another, or mended, or a person must decide. To that one
// its end is said once: the same restore point, found damaged again, ends the worker.
func (a *attempt) unrestored(ctx context.Context, id events.CheckpointID, d *damage) error {
	if a.reported == id {
		return fmt.Errorf("task %s: %w: checkpoint %s: %w; the coordinator has left it the restore point: see coordinator show %s, "+
			"and coordinator withdraw --help", a.cfg.Task, ErrRestore, id, d, id)
	}
	a.log.Error().Err(d).Stringer("checkpoint", id).Str("reason", string(d.reason)).Msg("restore")
	e := &events.TaskRestoreFailed{
		Task: a.cfg.Task, Attempt: a.assigned.Attempt, Checkpoint: id, Reason: d.reason, Text: clip(d.Error()),
	}
	if err := a.publish(ctx, e); err != nil {
		return err
	}
	a.reported = id
	return a.lost(fmt.Errorf("%w: checkpoint %s: %w", errDamaged, id, d))
}
