package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// finalizeTries is how often the proof of a checkpoint's state is tried before it fails as finalize_failed. With the
// pauses between them that is about 23 s of a store that answers with errors.
const finalizeTries = 10

const keyFinalize = "finalize:"

// finalizing reports whether chunks are being made permanent.
func (l *loop) finalizing() bool { return l.storeLane.runsAny(keyFinalize) }

// finalize proves that every acked chunk is there and makes it permanent, and then appends the verdict. It never runs
// beside a discard, which gives chunks an end of life: a chunk that both refer to would be made permanent first and
// mortal after. Where the store holds no chunks there is nothing to prove, and the verdict does not wait for the store.
func (l *loop) finalize(r *reign, id events.CheckpointID, forced bool) {
	k, lane := key(keyFinalize, id), l.storeLane
	if r.chunks == nil {
		lane = l.logLane
	}
	if l.storeLane.runs(keyDiscard) || !lane.ready(l.clock(), k) {
		return
	}
	cp, ok := l.state.Checkpoint(id)
	if !ok || cp.Phase.Terminal() {
		return
	}
	forced = forced && cp.Phase == projection.PhasePending
	gathered := func() parts { return gather(cp) } // once all acks are in they do not change any more
	if forced {
		now := gather(cp)
		gathered = func() parts { return now }
	}
	r.tries[id]++
	tries := r.tries[id]
	lane.start(r.ctx, l.clock(), k, func(ctx context.Context) result { return l.conclude(ctx, r, id, gathered(), forced, tries) })
}

// conclude appends the verdict of a checkpoint that has all the acks that it is to have.
func (l *loop) conclude(ctx context.Context, r *reign, id events.CheckpointID, p parts, forced bool, tries int) result {
	if size := p.recordSize(); size > l.cfg.MaxRecord {
		return l.giveUp(ctx, r, id, events.FailedFinalize, fmt.Sprintf(
			"the handles of its tasks make a record of %d bytes, and %d are allowed; put state into chunks", size, l.cfg.MaxRecord))
	}
	missing, err := l.prove(ctx, r, p)
	switch {
	case errors.Is(err, store.ErrFenced), ctx.Err() != nil:
		return l.failed(r, "prove the state", err)
	case err != nil && tries < finalizeTries:
		return l.failed(r, fmt.Sprintf("prove the state of checkpoint %s, try %d of %d", id, tries, finalizeTries), err)
	case err != nil:
		return l.giveUp(ctx, r, id, events.FailedFinalize, fmt.Sprintf("the store failed %d times: %v", tries, err))
	case len(missing) > 0:
		return l.giveUp(ctx, r, id, events.FailedStateMissing, p.describe(missing))
	}
	at, err := l.append(ctx, r, &events.CheckpointCompleted{
		Epoch: r.term.Epoch(), Checkpoint: id, RecordKey: l.recordKey(id), Bytes: p.bytes, Forced: forced,
	})
	return l.appended(r, at, err)
}

func (l *loop) giveUp(ctx context.Context, r *reign, id events.CheckpointID, reason events.FailureReason, text string) result {
	at, err := l.append(ctx, r, &events.CheckpointFailed{Epoch: r.term.Epoch(), Checkpoint: id, Reason: reason, Text: text})
	return l.appended(r, at, err)
}

// prove makes the chunks permanent and returns those that are not there.
func (l *loop) prove(ctx context.Context, r *reign, p parts) ([]string, error) {
	if len(p.digests) == 0 {
		return nil, nil
	}
	if r.chunks == nil {
		return p.digests, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	return r.chunks.Keep(ctx, p.digests)
}

// recordKey is where the record stands, for the reader of the log.
func (l *loop) recordKey(id events.CheckpointID) string {
	if named, ok := l.cfg.Store.(interface {
		RecordKey(id events.CheckpointID) string
	}); ok {
		return named.RecordKey(id)
	}
	return ""
}
