package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// Bounds of the index that stand for all ids of one kind; see keys.
const (
	completedMax, completedMin = "(d", "[c"
	allMax, allMin             = "(b", "[a"
	highestMax, highestMin     = "(i", "[h"
)

// latestBatch is how many candidates Latest asks the index for; it reads the first, and the next only if it must.
const latestBatch = 8

// listAttempts bounds how often List starts again because the index had a wrong time.
const listAttempts = 3

// Latest implements [store.Store].
func (s *Store) Latest(ctx context.Context) (*store.Checkpoint, error) {
	var cp *store.Checkpoint
	var bad []error
	err := s.withIndex(ctx, func() (err error) {
		cp, bad, err = s.latest(ctx)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("latest checkpoint: %w", err)
	case cp == nil && len(bad) == 0:
		return nil, store.ErrNone
	}
	return cp, skipped(bad)
}

// latest walks down the completed ids until one can be read.
func (s *Store) latest(ctx context.Context) (*store.Checkpoint, []error, error) {
	var bad []error
	for below := completedMax; ; {
		ids, err := s.names(ctx, below, completedMin, latestBatch)
		if err != nil || len(ids) == 0 {
			return nil, bad, err
		}
		for _, id := range ids {
			cp, err := s.candidate(ctx, id)
			switch {
			case cp != nil:
				return cp, bad, nil
			case store.Unreadable(err):
				bad = append(bad, err)
			case err != nil:
				return nil, nil, err
			}
			below = "(c" + member(id)
		}
	}
}

// candidate reads a record that the index calls completed; nil if it is not, which is put right.
func (s *Store) candidate(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	readings, err := s.readAll(ctx, []events.CheckpointID{id})
	if err != nil {
		return nil, err
	}
	cp, err := s.open(readings[0])
	switch {
	case err != nil:
		return nil, err
	case cp == nil:
		return nil, s.forgetMissing(ctx, id)
	case !cp.Completed:
		return nil, s.forgetDone(ctx, id, readings[0].raw)
	}
	return cp, nil
}

// HighestID implements [store.Store].
func (s *Store) HighestID(ctx context.Context) (events.CheckpointID, error) {
	highest := events.NoCheckpoint
	err := s.withIndex(ctx, func() error {
		ids, err := s.names(ctx, highestMax, highestMin, 1)
		if err == nil && len(ids) > 0 {
			highest = ids[0]
		}
		return err
	})
	if err != nil {
		return events.NoCheckpoint, fmt.Errorf("highest checkpoint id: %w", err)
	}
	return highest, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, limit int) ([]*store.Checkpoint, error) {
	if limit < 0 {
		return nil, fmt.Errorf("list checkpoints: %w: limit %d", store.ErrInvalid, limit)
	}
	if limit == 0 {
		return nil, nil
	}
	var l *listing
	err := s.withIndex(ctx, func() error {
		for range listAttempts {
			l = &listing{limit: limit}
			if err := s.list(ctx, l); err != nil {
				return err
			}
			if !l.moved {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	slices.SortFunc(l.found, func(a, b *store.Checkpoint) int {
		return cmp.Or(cmp.Compare(b.Timestamp, a.Timestamp), cmp.Compare(b.ID, a.ID))
	})
	return l.found[:min(limit, len(l.found))], skipped(l.bad)
}

// listing is one pass over the index by time.
type listing struct {
	limit   int
	found   []*store.Checkpoint
	bad     []error
	missing []events.CheckpointID
	stale   []sighting // records whose time in the index was wrong
	moved   bool       // the index was put right, so that its order was not the one wanted
}

// list reads pages until there is enough, and only then corrects the index, since pages are counted from its top.
func (s *Store) list(ctx context.Context, l *listing) error {
	for offset := int64(0); len(l.found) < l.limit; {
		entries, err := s.newest(ctx, offset, int64(min(readBatch, l.limit-len(l.found))))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		if err := s.listPage(ctx, l, entries); err != nil {
			return err
		}
		offset += int64(len(entries))
	}
	var errs []error
	for _, id := range l.missing {
		errs = append(errs, s.forgetMissing(ctx, id))
	}
	l.moved = len(l.stale) > 0
	return errors.Join(append(errs, s.adopt(ctx, l.stale))...)
}

func (s *Store) listPage(ctx context.Context, l *listing, entries []timed) error {
	ids := make([]events.CheckpointID, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	readings, err := s.readAll(ctx, ids)
	if err != nil {
		return err
	}
	for i, r := range readings {
		cp, err := s.open(r)
		switch {
		case err != nil:
			l.bad = append(l.bad, err)
		case cp == nil:
			l.missing = append(l.missing, r.id)
		default:
			l.found = append(l.found, cp)
			if float64(cp.Timestamp) != entries[i].score {
				l.stale = append(l.stale, see(r.id, cp, nil))
			}
		}
	}
	return nil
}

// skipped makes the error that comes beside a result.
func skipped(bad []error) error {
	if len(bad) == 0 {
		return nil
	}
	return &store.SkippedError{Records: bad}
}
