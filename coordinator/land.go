package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// land makes the record of each completed checkpoint say what the log says: after the verdict, and again at the start of
// each reign, which repairs a crash between the two. Only what has landed is announced.
func (l *loop) land(r *reign) {
	for _, list := range [][]projection.Checkpoint{l.state.Completed(), l.state.Savepoints()} {
		for _, cp := range list {
			if !r.landed[cp.ID] && l.storeLane.ready(l.clock(), key("land", cp.ID)) {
				l.storeLane.start(r.ctx, l.clock(), key("land", cp.ID), l.landing(r, cp))
			}
		}
	}
}

func (l *loop) landing(r *reign, cp projection.Checkpoint) effect {
	repair := cp.Epoch != r.term.Epoch()
	return func(ctx context.Context) result {
		ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
		defer cancel()
		parts := gather(cp) // of an ended checkpoint, which never changes again
		if repair {
			if err := l.proveAgain(ctx, r, cp.ID, parts); err != nil {
				return l.failed(r, fmt.Sprintf("prove the state of checkpoint %s again", cp.ID), err)
			}
		}
		_, err := r.store.Complete(ctx, cp.ID, parts.fill)
		if errors.Is(err, store.ErrNotFound) {
			err = l.rewrite(ctx, r, cp, parts)
		}
		if err != nil {
			return l.failed(r, fmt.Sprintf("mark the record of checkpoint %s completed", cp.ID), err)
		}
		return result{done: func(l *loop) {
			r.landed[cp.ID] = true
			r.stale = true
			l.waiters.ended(cp.ID, nil)
		}}
	}
}

// proveAgain looks whether the state of a checkpoint of an older reign is still there. If not, nothing can be mended here;
// whoever restores it gets a clear error, and this line says it first.
func (l *loop) proveAgain(ctx context.Context, r *reign, id events.CheckpointID, parts parts) error {
	missing, err := l.prove(ctx, r, parts)
	if err == nil && len(missing) > 0 {
		l.log.Error().Stringer("checkpoint", id).Str("missing", parts.describe(missing)).
			Msg("a completed checkpoint cannot be restored any more")
	}
	return err
}

// rewrite makes a lost record anew: the log has all that the coordinator knew of it.
func (l *loop) rewrite(ctx context.Context, r *reign, cp projection.Checkpoint, parts parts) error {
	record := store.New(cp.ID, cp.TriggeredAt)
	record.Nonce = fmt.Sprintf("%s-%s", r.term.Epoch(), r.term.Instance())
	if err := parts.fill(record); err != nil {
		return err
	}
	record.Complete()
	return r.store.Create(ctx, record)
}

// discard removes the records of failed and retired checkpoints and gives an end of life to each chunk that only they
// refer to; then the log says so, and the fold forgets them. Where the store is not a job's, records stay until Cleanup.
func (l *loop) discard(r *reign, d projection.Discard) {
	for id := range r.finalizing {
		if l.storeLane.runs(key("finalize", id)) {
			return
		}
		delete(r.finalizing, id)
	}
	ids := d.IDs
	var digests []string
	for _, ref := range l.state.Garbage(ids...) {
		digests = append(digests, string(ref.Digest))
	}
	l.storeLane.start(r.ctx, l.clock(), keyDiscard, func(ctx context.Context) result {
		gone, err := l.discardState(ctx, r, ids, digests)
		if len(gone) == 0 {
			return l.failed(r, "discard state", err)
		}
		at, appendErr := r.append(ctx, &events.StateDiscarded{Epoch: r.term.Epoch(), Checkpoints: gone})
		res := l.appended(r, at, appendErr)
		if err != nil && appendErr == nil { // the rest is tried again after a pause, and holds up nothing else
			return l.failed(r, "discard state", err)
		}
		return res
	})
}

// discardState returns the ids whose record and chunks are dealt with. One record that cannot be deleted does not keep
// the others.
func (l *loop) discardState(ctx context.Context, r *reign, ids []events.CheckpointID, digests []string) ([]events.CheckpointID, error) {
	if r.chunks == nil {
		return ids, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
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
