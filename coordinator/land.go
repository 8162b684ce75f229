package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

const keyLand = "land:"

// land makes the record of each completed checkpoint say what the log says: after the verdict, and again at the start of
// each reign, which repairs a crash between the two. Only what has landed is announced.
func (l *loop) land(r *reign) {
	for id := range r.unlanded {
		if l.storeLane.full() {
			return
		}
		k := key(keyLand, id)
		if !l.storeLane.ready(l.clock(), k) {
			continue
		}
		cp, ok := l.state.Checkpoint(id)
		if !ok || cp.Phase != projection.PhaseCompleted { // retired by hand
			delete(r.unlanded, id)
			l.settle(id)
			continue
		}
		l.storeLane.start(r.ctx, l.clock(), k, l.landing(r, cp))
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
		if err := l.mark(ctx, r, cp, parts); err != nil {
			return l.failed(r, fmt.Sprintf("mark the record of checkpoint %s completed", cp.ID), err)
		}
		return result{done: func(l *loop) { l.landed(r, cp) }}
	}
}

func (l *loop) landed(r *reign, cp projection.Checkpoint) {
	if l.reign != r {
		return
	}
	delete(r.unlanded, cp.ID)
	r.stale = true
	r.tasksStale = r.tasksStale || r.withheld
	kept, ok := l.state.Checkpoint(cp.ID) // it may have been withdrawn meanwhile
	if ok && kept.Phase == projection.PhaseCompleted && cp.Type != events.TypeSavepoint {
		r.latest = max(r.latest, cp.ID)
	}
	l.settle(cp.ID)
}

// mark makes the record say completed. One that is gone or damaged is written anew: the log has all that the
// coordinator knew of it.
func (l *loop) mark(ctx context.Context, r *reign, cp projection.Checkpoint, parts parts) error {
	_, err := r.store.Complete(ctx, cp.ID, parts.fill)
	if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	l.log.Warn().Err(err).Stringer("checkpoint", cp.ID).Msg("writing the record anew from the log")
	record := store.New(cp.ID, cp.TriggeredAt)
	record.Nonce = r.nonce()
	if err := parts.fill(record); err != nil {
		return err
	}
	record.Complete()
	if errors.Is(err, store.ErrCorrupt) {
		return r.store.Store(ctx, record)
	}
	return r.store.Create(ctx, record)
}

// proveAgain looks whether the state of a checkpoint of an older reign is still there. If not, nothing can be mended here;
// whoever restores it gets a clear error, and this line says it first.
func (l *loop) proveAgain(ctx context.Context, r *reign, id events.CheckpointID, parts parts) error {
	missing, err := l.prove(ctx, r, parts)
	if err == nil && len(missing) > 0 {
		l.log.Error().Stringer("checkpoint", id).Str("missing", parts.describe(missing)).
			Msgf("a completed checkpoint cannot be restored any more; see coordinator withdraw %s", id)
	}
	return err
}
