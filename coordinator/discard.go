package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

const keyDiscard = "discard"

// retire lets older checkpoints go; those whose record is still to be marked stay until it is.
func (l *loop) retire(r *reign, ids []events.CheckpointID) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id events.CheckpointID) bool { return r.unlanded[id] })
	if len(ids) == 0 {
		return
	}
	why := fmt.Sprintf("%d are kept", l.cfg.policy().Retain)
	l.logLane.start(r.ctx, l.clock(), "retire", l.verdict(r, &events.CheckpointsRetired{
		Epoch: r.term.Epoch(), Checkpoints: ids, Why: why,
	}))
}

// discard removes the records of failed and retired checkpoints and gives an end of life to each chunk that only they
// refer to; then the log says so, and the fold forgets them. Where the store is not a job's, records stay until Cleanup.
func (l *loop) discard(r *reign, d projection.Discard) {
	if !l.storeLane.ready(l.clock(), keyDiscard) || l.finalizing() || l.touched(d.IDs) {
		return
	}
	ids := d.IDs
	var state *projection.State
	if r.chunks != nil {
		state = l.state.Clone() // all references are walked elsewhere
	}
	l.storeLane.start(r.ctx, l.clock(), keyDiscard, func(ctx context.Context) result {
		gone, err := l.discardState(ctx, r, ids, state)
		if len(gone) == 0 {
			return l.failed(r, "discard state", err)
		}
		at, appendErr := l.append(ctx, r, &events.StateDiscarded{Epoch: r.term.Epoch(), Checkpoints: gone})
		res := l.appended(r, at, appendErr)
		if err != nil && appendErr == nil { // the rest is tried again after a pause, and holds up nothing else
			return l.failed(r, "discard state", err)
		}
		return res
	})
}

// withdrawn are those of the ids that could not be restored.
func withdrawn(state *projection.State, ids []events.CheckpointID) (list []projection.Checkpoint) {
	for _, cp := range state.Waste() {
		if cp.Withdrawn && slices.Contains(ids, cp.ID) {
			list = append(list, cp)
		}
	}
	return list
}

// touched reports whether the record of one of the checkpoints is being written.
func (l *loop) touched(ids []events.CheckpointID) bool {
	return slices.ContainsFunc(ids, func(id events.CheckpointID) bool { return l.storeLane.runs(key(keyLand, id)) })
}

// discardState returns the ids whose record and chunks are dealt with. One record that cannot be deleted does not keep
// the others.
func (l *loop) discardState(
	ctx context.Context, r *reign, ids []events.CheckpointID, state *projection.State,
) ([]events.CheckpointID, error) {
	if r.chunks == nil {
		return ids, nil
	}
	if err := l.purge(ctx, r, withdrawn(state, ids)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	var digests []string
	for _, ref := range state.Garbage(ids...) {
		digests = append(digests, string(ref.Digest))
	}
	if len(digests) > 0 {
		if err := r.chunks.Release(ctx, digests, l.cfg.ChunkGrace); err != nil {
			return nil, fmt.Errorf("release %d chunks: %w", len(digests), err)
		}
	}
	var gone []events.CheckpointID
	var errs error
	for _, id := range ids {
		if _, err := r.store.Delete(ctx, id); err != nil {
			errs = errors.Join(errs, fmt.Errorf("delete the record of checkpoint %s: %w", id, err))
			continue
		}
		gone = append(gone, id)
	}
	return gone, errs
}
