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
	type answer struct {
		verdict *verdict
		err     error
	}
	a, err := ask(ctx, c, func(l *loop) answer {
		if err := l.force(id); err != nil {
			return answer{err: err}
		}
		return answer{verdict: l.verdictOf(id)}
	})
	if err = errors.Join(err, a.err); err != nil {
		return fmt.Errorf("complete checkpoint %s: %w", id, err)
	}
	return (&Handle{ID: id, verdict: a.verdict}).Wait(ctx)
}

// force notes that a pending checkpoint is to be completed as it is; the next turns see to it. One that is finalizing
// completes by itself.
func (l *loop) force(id events.CheckpointID) error {
	r := l.reign
	if r == nil || !r.started {
		return ErrNotLeading
	}
	cp, ok := l.state.Checkpoint(id)
	if !ok || cp.Phase.Terminal() || slices.Contains(l.due(), id) {
		return ErrNotPending
	}
	r.forced[id] = true
	return nil
}

// Cleanup removes checkpoints until keep are left and returns how many records went: open ones first, then the oldest
// completed. What is pending or pinned, and the newest completed one, always stays. A negative keep is [store.ErrInvalid];
// a [*store.SkippedError] comes beside the count.
func (c *Coordinator) Cleanup(ctx context.Context, keep int) (int, error) {
	answers := make(chan cleaned, 1) // sent once by the effect or the loop; one place
	err := c.do(ctx, func(l *loop) {
		if r := l.reign; r != nil && r.started {
			r.cleanups = append(r.cleanups, cleanup{ctx, keep, answers})
			return
		}
		answers <- cleaned{err: ErrNotLeading}
	})
	if err != nil {
		return 0, err
	}
	a, err := await(ctx, c, answers)
	return a.removed, errors.Join(a.err, err)
}

// cleanup is a Cleanup that waits until it is known which ids are in use.
type cleanup struct {
	caller  context.Context //nolint:containedctx // of the verb that waits
	keep    int
	answers chan<- cleaned
}

// cleaned is the answer to Cleanup.
type cleaned struct {
	removed int
	err     error
}

// cleanups starts what waits.
func (l *loop) cleanups(r *reign) {
	if !r.verified && !r.doubtful {
		return
	}
	for _, c := range r.cleanups {
		l.storeLane.start(r.ctx, l.clock(), fmt.Sprintf("cleanup:%p", c.answers), l.cleanup(c.caller, r, c.keep, c.answers))
	}
	r.cleanups = nil
}

// cleanup removes records and tells the log which checkpoints of the fold are no longer kept. It ends with the caller too.
func (l *loop) cleanup(caller context.Context, r *reign, keep int, answers chan<- cleaned) effect {
	protected := l.protected(r)
	var retained []events.CheckpointID
	for _, c := range l.state.Completed() {
		retained = append(retained, c.ID)
	}
	return func(ctx context.Context) result {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(caller, cancel)()
		removed, err := r.store.Cleanup(ctx, keep, protected)
		skipped, fatal := store.Skipped(err)
		if fatal != nil {
			answers <- cleaned{err: fatal}
			return result{done: func(l *loop) { l.fenced(r, fatal) }}
		}
		var at events.Position
		gone, err := missingRecords(ctx, r.store, retained)
		if err == nil && len(gone) > 0 {
			at, err = l.append(ctx, r, &events.CheckpointsRetired{Epoch: r.term.Epoch(), Checkpoints: gone, Why: "cleanup"})
		}
		if err == nil && skipped != nil {
			err = skipped
		}
		answers <- cleaned{removed, err}
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

// protected tells which checkpoints no clean-up may take. Ids from the next one on are reserved by a trigger that the log
// does not know yet.
func (l *loop) protected(r *reign) func(events.CheckpointID) bool {
	ids := map[events.CheckpointID]bool{l.state.LatestCompleted(): true}
	for _, list := range [][]projection.Checkpoint{l.state.Live(), l.state.Savepoints()} {
		for _, c := range list {
			ids[c.ID] = true
		}
	}
	for id := range r.unlanded {
		ids[id] = true
	}
	for _, t := range l.state.Tasks() {
		if t.Pinned {
			ids[t.Restore] = true
		}
	}
	next := max(l.state.NextID(), r.nextID, l.floor.nextID)
	if l.storeLane.runs(keyTrigger) {
		next = min(next, r.reserving)
	}
	return func(id events.CheckpointID) bool { return ids[id] || id >= next }
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
