package memory

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// Complete implements [store.Store]. merge runs outside the lock, so that it may use the store.
func (s *Store) Complete(
	ctx context.Context, id events.CheckpointID, merge func(*store.Checkpoint) error,
) (*store.Checkpoint, error) {
	for range completeAttempts {
		cp, done, err := s.completeOnce(ctx, id, merge)
		if err != nil {
			return nil, fmt.Errorf("complete checkpoint %v: %w", id, err)
		}
		if done {
			return cp, nil
		}
	}
	return nil, fmt.Errorf("complete checkpoint %v: %w", id, store.ErrContended)
}

// completeOnce is one read, merge, compare and write; done is false when the record changed in between.
func (s *Store) completeOnce(
	ctx context.Context, id events.CheckpointID, merge func(*store.Checkpoint) error,
) (cp *store.Checkpoint, done bool, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, false, err
	}
	old, cp, err := s.snapshot(id)
	if err != nil || cp.Completed {
		return cp, true, err
	}
	if merge != nil {
		if err := merge(cp); err != nil {
			return nil, false, err
		}
	}
	cp.ID, cp.Completed = id, true
	b, err := store.EncodeRecord(cp, s.opts.MaxRecord)
	if err != nil {
		return nil, false, err
	}
	if done, err = s.swap(id, old, b); err != nil || !done {
		return nil, false, err
	}
	if merge != nil {
		return cp.Head(), true, nil
	}
	cp, err = store.DecodeRecord("checkpoint "+id.String(), id, b, s.opts.MaxRecord)
	return cp, true, err
}

// snapshot checks the token too, so that a store that may not write does not call merge.
func (s *Store) snapshot(id events.CheckpointID) ([]byte, *store.Checkpoint, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if err := s.permitted(); err != nil {
		return nil, nil, err
	}
	cp, err := s.read(id)
	return s.db.byID[id].raw, cp, err
}

func (s *Store) swap(id events.CheckpointID, old, b []byte) (bool, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if err := s.permitted(); err != nil {
		return false, err
	}
	if now, ok := s.db.byID[id]; !ok || !bytes.Equal(now.raw, old) {
		return false, nil
	}
	s.db.put(id, b, true)
	return true, nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, id events.CheckpointID) (existed bool, err error) {
	err = s.write(ctx, "delete", id, func() error {
		_, existed = s.db.byID[id]
		delete(s.db.byID, id)
		return nil
	})
	return existed, err
}

// Cleanup implements [store.Store]. protected runs under the lock and must not use the store.
func (s *Store) Cleanup(
	ctx context.Context, keep int, protected func(events.CheckpointID) bool,
) (removed int, err error) {
	if keep < 0 {
		return 0, fmt.Errorf("clean up checkpoints: %w: keep %d", store.ErrInvalid, keep)
	}
	if err := s.usable(ctx); err != nil {
		return 0, fmt.Errorf("clean up checkpoints: %w", err)
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if err := s.permitted(); err != nil {
		return 0, fmt.Errorf("clean up checkpoints: %w", err)
	}
	c := &cleanup{store: s, keep: keep, protected: protected, count: len(s.db.byID)}
	for _, completed := range []bool{false, true} {
		for _, id := range s.db.ids() {
			if s.db.byID[id].done == completed {
				c.try(id)
			}
		}
	}
	return c.removed, c.bad.orNil()
}

// cleanup is one call of Cleanup; the lock is held.
type cleanup struct {
	store     *Store
	keep      int
	protected func(events.CheckpointID) bool

	count   int // records that are left, the unreadable ones met aside
	removed int
	bad     unreadable
}

// try removes one record if there are too many and it may go.
func (c *cleanup) try(id events.CheckpointID) {
	if c.count <= c.keep || c.protected != nil && c.protected(id) {
		return
	}
	c.count--
	if _, err := c.store.read(id); err != nil {
		c.bad = append(c.bad, err)
		return
	}
	delete(c.store.db.byID, id)
	c.removed++
}
