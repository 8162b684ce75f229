package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// restore puts the attempt's restore point in place and says so. Nothing is processed before, and nothing after a
// failure: a worker that starts empty where it should not would lose state without a word.
func (a *attempt) restore(ctx context.Context) error {
	id := a.assigned.Restore
	if !id.IsZero() {
		err := a.load(ctx, id)
		damage, ok := errors.AsType[*damage](err)
		switch {
		case ok && ctx.Err() == nil:
			return a.unrestored(ctx, id, damage)
		case err != nil:
			if noRetry(err) && !errors.Is(err, ErrCommit) {
				err = fmt.Errorf("%w: %w", ErrCommit, err)
			}
			return fmt.Errorf("task %s: %w: checkpoint %s: %w", a.cfg.Task, ErrRestore, id, err)
		}
	}
	a.log.Info().Stringer("checkpoint", id).Msg("restored")
	return a.publish(ctx, &events.TaskRestored{Task: a.cfg.Task, Attempt: a.assigned.Attempt, Checkpoint: id})
}

// load hands the checkpoint's items to the pipeline, and commits it: a crash may have come between the verdict and the commit.
func (a *attempt) load(ctx context.Context, id events.CheckpointID) error {
	items, err := a.fetch(ctx, id)
	if err == nil {
		err = a.pipeline.Restore(ctx, items, a.cfg.Mode)
	}
	if err == nil {
		err = a.commit(ctx, id)
	}
	return err
}

// fetch reads the task's items out of the record and the chunks of a checkpoint.
func (a *attempt) fetch(ctx context.Context, id events.CheckpointID) (map[string][]byte, error) {
	record, err := a.cfg.Store.Load(ctx, id)
	if err != nil {
		return nil, damaged(err, store.ErrNotFound, events.RestoreRecordMissing, events.RestoreRecordCorrupt)
	}
	if !record.Completed {
		return nil, errors.New("its record is not completed")
	}
	if n := handlesIn(record); a.counted && n > a.cfg.Count {
		return nil, fmt.Errorf("it was taken by %d tasks and this job has %d; the shares of one number do not hold the state "+
			"of another: start it with %d tasks again, or anew", n, a.cfg.Count, n)
	}
	handle, err := handleOf(record, a.cfg.Task)
	if err != nil {
		return nil, err
	}
	if len(handle.Inline) > 0 {
		return nil, errors.New("its state is in the ack itself; this worker did not write that")
	}
	pieces := make([]piece, len(handle.Chunks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.cfg.Uploads)
	for i, c := range handle.Chunks {
		group.Go(func() error {
			data, err := a.cfg.Store.GetChunk(ctx, string(c.Digest))
			if err != nil {
				err = fmt.Errorf("chunk %s (%.12s…): %w", c.Name, c.Digest, err)
				return damaged(err, store.ErrChunkMissing, events.RestoreChunkMissing, events.RestoreChunkCorrupt)
			}
			pieces[i] = piece{c.Name, data}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return unpack(pieces)
}

// handlesIn counts the tasks whose state the record names. Entries that tasks have put there by hand are none.
func handlesIn(record *store.Checkpoint) int {
	n := 0
	for key := range record.State {
		value, ok, err := store.Get[json.RawMessage](record.State, key)
		if err != nil || !ok {
			continue
		}
		if h, err := events.DecodeHandle(value); err == nil && len(h.Chunks) > 0 {
			n++
		}
	}
	return n
}

func handleOf(record *store.Checkpoint, task events.TaskID) (events.StateHandle, error) {
	value, ok, err := store.Get[json.RawMessage](record.State, task.String())
	if err != nil {
		return events.StateHandle{}, err
	}
	if !ok {
		return events.StateHandle{}, fmt.Errorf("its record holds no state of task %s: was the number of tasks changed?", task)
	}
	return events.DecodeHandle(value)
}
