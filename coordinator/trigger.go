package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// trigger reserves the id by creating the open record, and only then appends the trigger: a crash between the two leaves
// an open record that the log does not know, which the next verify counts as a used id.
func (l *loop) trigger(r *reign, d projection.Trigger) effect {
	e := &events.CheckpointTriggered{
		Epoch: r.term.Epoch(), Checkpoint: d.ID, Type: d.Type, Request: d.Request, Cause: d.Cause,
		Tasks: d.Tasks, Count: d.Count, Timeout: d.Timeout.Milliseconds(), JoiningEvent: d.JoiningEvent,
	}
	id := d.ID
	return func(ctx context.Context) result {
		switch err := l.reserve(ctx, r, id); {
		case err == nil:
		case errors.Is(err, store.ErrExists):
			return l.takenID(ctx, r, id)
		default:
			return l.notReserved(ctx, r, e, err)
		}
		at, err := l.append(ctx, r, e)
		if err != nil {
			return l.failed(r, "append checkpoint_triggered", err)
		}
		return result{until: at, done: func(*loop) { r.nextID = max(r.nextID, id+1) }}
	}
}

func (l *loop) reserve(ctx context.Context, r *reign, id events.CheckpointID) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	record := store.New(id, time.Now().UnixMilli())
	record.Nonce = r.nonce()
	return r.store.Create(ctx, record)
}

// takenID steps over a foreign record: it is never overwritten.
func (l *loop) takenID(ctx context.Context, r *reign, id events.CheckpointID) result {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	highest, err := r.store.HighestID(ctx)
	if err != nil {
		return l.failed(r, "read the highest id of the store", err)
	}
	return result{done: func(l *loop) {
		r.nextID = max(r.nextID, highest+1, id+1)
		l.log.Warn().Stringer("checkpoint", id).Msg("the store holds a foreign record of that id; taking the next one")
	}}
}

// notReserved answers the request whose record could not be written. The id is burnt: whether the record is there is
// not known for sure. A periodic trigger has nobody to answer; its next tick comes.
func (l *loop) notReserved(ctx context.Context, r *reign, e *events.CheckpointTriggered, cause error) result {
	burn := func(l *loop) {
		r.nextID = max(r.nextID, e.Checkpoint+1)
		if l.fenced(r, cause) || l.reign != r {
			return
		}
		if e.Request == "" {
			l.timing.PeriodicFailed(l.clock(), l.state)
		}
		l.log.Error().Err(cause).Stringer("checkpoint", e.Checkpoint).Msg("trigger: write the open record")
	}
	if e.Request == "" || errors.Is(cause, store.ErrFenced) || ctx.Err() != nil {
		return result{done: burn}
	}
	at, err := l.append(ctx, r, &events.RequestRefused{
		Epoch: r.term.Epoch(), Request: e.Request, Reason: events.RefusedStoreFailed,
		Remedy: fmt.Sprintf("the open record could not be written: %v; ask again when the store is back", cause),
	})
	res := l.appended(r, at, err)
	also := res.done
	res.done = func(l *loop) {
		burn(l)
		if also != nil {
			also(l)
		}
	}
	return res
}

// verify reads the highest id of the store once per reign; until it has succeeded no trigger is accepted. Requests wait for
// the first answer, and are refused from when it is an error, or does not come.
func (l *loop) verify(r *reign) {
	if r.verified {
		return
	}
	r.doubtful = r.doubtful || l.clock()-r.began > l.cfg.StoreTimeout
	l.storeLane.start(r.ctx, l.clock(), "verify", func(ctx context.Context) result {
		ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
		defer cancel()
		highest, err := r.store.HighestID(ctx)
		if err != nil {
			res := l.failed(r, "verify the highest id of the store", err)
			also := res.done
			res.done = func(l *loop) { r.doubtful = true; also(l) }
			return res
		}
		return result{done: func(*loop) { r.verified, r.doubtful, r.nextID = true, false, max(r.nextID, highest+1) }}
	})
}
