package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// Complete completes a pending checkpoint by hand, with the acks that it has; the log says that it was forced. What
// tasks have put into the record stays. It returns when the record is marked. A checkpoint that this coordinator does
// not have pending is [ErrNotPending], and the store is not touched.
func (c *Coordinator) Complete(ctx context.Context, id events.CheckpointID) error {
	verdict := make(chan error, 1) // sent once by the loop; one place
	err, asked := ask(ctx, c, func(l *loop) error { return l.force(id, verdict) })
	if err := errors.Join(err, asked); err != nil {
		return fmt.Errorf("complete checkpoint %s: %w", id, err)
	}
	err, ended := await(ctx, c, verdict)
	return errors.Join(err, ended)
}

// force hands on the completion of a pending checkpoint.
func (l *loop) force(id events.CheckpointID, verdict chan error) error {
	r := l.reign
	if r == nil || !r.started {
		return ErrNotLeading
	}
	cp, ok := l.state.Checkpoint(id)
	if !ok || cp.Phase.Terminal() || slices.Contains(l.due(), id) {
		return ErrNotPending
	}
	l.waiters.checkpoints[id] = append(l.waiters.checkpoints[id], verdict)
	l.complete(r, cp, cp.Phase == projection.PhasePending)
	return nil
}

// Cleanup removes checkpoints until keep are left and returns how many records went: open ones first, then the oldest
// completed. What is pending or pinned, and the newest completed one, always stays. A negative keep is [store.ErrInvalid].
func (c *Coordinator) Cleanup(ctx context.Context, keep int) (int, error) {
	type answer struct {
		removed int
		err     error
	}
	answers := make(chan answer, 1) // sent once by the effect or the loop; one place
	err := c.do(ctx, func(l *loop) {
		r := l.reign
		if r == nil || !r.started {
			answers <- answer{err: ErrNotLeading}
			return
		}
		work := l.cleanup(r, keep, func(n int, err error) { answers <- answer{n, err} })
		l.storeLane.start(r.ctx, l.clock(), fmt.Sprintf("cleanup:%p", answers), work)
	})
	if err != nil {
		return 0, err
	}
	a, err := await(ctx, c, answers)
	return a.removed, errors.Join(a.err, err)
}

// cleanup removes records and tells the log which checkpoints of the fold are no longer kept.
func (l *loop) cleanup(r *reign, keep int, answer func(int, error)) effect {
	protected := l.protected()
	var retained []events.CheckpointID
	for _, c := range l.state.Completed() {
		retained = append(retained, c.ID)
	}
	return func(ctx context.Context) result {
		removed, err := r.store.Cleanup(ctx, keep, func(id events.CheckpointID) bool { return protected[id] })
		if _, fatal := store.Skipped(err); fatal != nil {
			answer(0, fatal)
			return result{done: func(l *loop) { l.fenced(r, fatal) }}
		}
		gone, err := missingRecords(ctx, r.store, retained)
		var at events.Position
		if err == nil && len(gone) > 0 {
			at, err = r.append(ctx, &events.CheckpointsRetired{Epoch: r.term.Epoch(), Checkpoints: gone, Why: "cleanup"})
		}
		answer(removed, err)
		return result{until: at}
	}
}

func missingRecords(ctx context.Context, st store.Store, ids []events.CheckpointID) (gone []events.CheckpointID, err error) {
	for _, id := range ids {
		_, err := st.Load(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			gone = append(gone, id)
		case err != nil && !store.Unreadable(err):
			return nil, err
		}
	}
	return gone, nil
}

// protected are the checkpoints that no clean-up may take.
func (l *loop) protected() map[events.CheckpointID]bool {
	ids := map[events.CheckpointID]bool{l.state.LatestCompleted(): true}
	for _, c := range l.state.Live() {
		ids[c.ID] = true
	}
	for _, c := range l.state.Savepoints() {
		ids[c.ID] = true
	}
	for _, t := range l.state.Tasks() {
		if t.Pinned {
			ids[t.Restore] = true
		}
	}
	return ids
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
