package redis

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// existBatch is how many records one round trip asks about.
const existBatch = 500

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, id events.CheckpointID) (bool, error) {
	existed, err := s.deleteRecord(ctx, id)
	if err != nil {
		return false, fmt.Errorf("delete checkpoint %v: %w", id, err)
	}
	return existed, nil
}

// deleteRecord looks first: a DEL that was sent twice because its answer got lost says that there was none.
func (s *Store) deleteRecord(ctx context.Context, id events.CheckpointID) (bool, error) {
	if err := s.writable(ctx); err != nil {
		return false, err
	}
	exist, err := s.exist(ctx, []events.CheckpointID{id})
	if err != nil {
		return false, err
	}
	if _, err := s.remove(ctx, id, nil); err != nil {
		return false, err
	}
	return exist[0], nil
}

// remove deletes a record, or if expect is given that very image of it, and reads back when the answer got lost. It
// returns false when the record is another one.
func (s *Store) remove(ctx context.Context, id events.CheckpointID, expect *image) (bool, error) {
	mode, raw := "any", []byte(nil)
	if expect != nil {
		mode, raw = "bytes", expect.raw
	}
	epoch, instance := s.token()
	keys := []string{s.keys.leader, s.keys.record(id), s.keys.names, s.keys.times}
	var lost error
	for range settleAttempts {
		n, err := s.code(ctx, s.scripts.remove, keys, epoch, instance, mode, raw, member(id))
		switch {
		case err == nil && n == codeFenced:
			return false, inDoubt(store.ErrFenced, lost)
		case err == nil:
			return n != codeChanged, nil
		case answered(err):
			return false, inDoubt(err, lost)
		}
		lost = err
		exist, err := s.exist(ctx, []events.CheckpointID{id})
		if err != nil {
			return false, unknown(err, lost)
		}
		if !exist[0] {
			return true, nil
		}
	}
	return false, unknown(lost)
}

// Cleanup implements [store.Store]. It reads the records that are to go and no others.
func (s *Store) Cleanup(
	ctx context.Context, keep int, protected func(events.CheckpointID) bool,
) (int, error) {
	if keep < 0 {
		return 0, fmt.Errorf("clean up checkpoints: %w: keep %d", store.ErrInvalid, keep)
	}
	c := &cleanup{store: s, keep: keep, protected: protected}
	if protected == nil {
		c.protected = func(events.CheckpointID) bool { return false }
	}
	err := s.writable(ctx)
	if err == nil {
		err = s.stillLeading(ctx)
	}
	if err == nil {
		err = s.withIndex(ctx, func() error { return c.run(ctx) })
	}
	if err != nil {
		return c.removed, fmt.Errorf("clean up checkpoints: %w", err)
	}
	return c.removed, skipped(c.bad)
}

// cleanup is one call of Cleanup.
type cleanup struct {
	store     *Store
	keep      int
	protected func(events.CheckpointID) bool

	count   int // records that are left, the unreadable ones met aside
	removed int
	bad     []error
}

func (c *cleanup) run(ctx context.Context) error {
	all, err := c.store.names(ctx, allMax, allMin, 0)
	if err != nil {
		return err
	}
	completed, err := c.store.names(ctx, completedMax, completedMin, 0)
	if err != nil {
		return err
	}
	if all, err = c.existing(ctx, all); err != nil {
		return err
	}
	c.count = len(all)
	done := make(map[events.CheckpointID]bool, len(completed))
	for _, id := range completed {
		done[id] = true
	}
	slices.Sort(all)
	for _, id := range all { // open ones first
		if !done[id] {
			if done[id], err = c.try(ctx, id, false); err != nil {
				return err
			}
		}
	}
	for _, id := range all {
		if done[id] {
			if _, err = c.try(ctx, id, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// existing drops the ids whose record is gone, from the index too.
func (c *cleanup) existing(ctx context.Context, ids []events.CheckpointID) ([]events.CheckpointID, error) {
	var left []events.CheckpointID
	for batch := range slices.Chunk(ids, existBatch) {
		exist, err := c.store.exist(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, id := range batch {
			if exist[i] {
				left = append(left, id)
			} else if err := c.store.forgetMissing(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// try removes one record, if there are too many and it may go. When open ones are asked for and it turns out to be
// completed, it stays and true is returned, so that it is asked for again among the completed.
func (c *cleanup) try(ctx context.Context, id events.CheckpointID, completed bool) (bool, error) {
	if c.count <= c.keep || c.protected(id) {
		return false, nil
	}
	for range settleAttempts {
		readings, err := c.store.readAll(ctx, []events.CheckpointID{id})
		if err != nil {
			return false, err
		}
		r := readings[0]
		cp, err := c.store.open(r)
		switch {
		case store.Unreadable(err):
			c.bad = append(c.bad, err)
			c.count--
			return false, nil
		case err != nil:
			return false, err
		case cp == nil:
			c.count--
			return false, c.store.forgetMissing(ctx, id)
		case cp.Completed && !completed:
			return true, c.store.adopt(ctx, []sighting{see(id, cp, nil)})
		}
		gone, err := c.store.remove(ctx, id, &r.image)
		if err != nil {
			return false, err
		}
		if gone {
			c.count--
			c.removed++
			return false, nil
		}
	}
	return false, fmt.Errorf("checkpoint %v: %w", id, store.ErrContended)
}
