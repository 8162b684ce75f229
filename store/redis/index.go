package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// rebuildAttempts bounds how often a call builds an index that is lost again while it is in use.
const rebuildAttempts = 3

// errNoIndex says that the index was not whole when it was read.
var errNoIndex = errors.New("index is not whole")

// sighting is what the index keeps of a record.
type sighting struct {
	id   events.CheckpointID
	ts   string // a sorted set score
	done bool
}

// see makes a sighting of a record, or of one that could not be read with err: that one sorts before all others, so that
// each List comes across it and names it.
func see(id events.CheckpointID, cp *store.Checkpoint, err error) sighting {
	if err != nil {
		return sighting{id: id, ts: "+inf"}
	}
	return sighting{id: id, ts: strconv.FormatInt(cp.Timestamp, 10), done: cp.Completed}
}

// adopt enters records into the index.
func (s *Store) adopt(ctx context.Context, seen []sighting) error {
	if len(seen) == 0 {
		return nil
	}
	keys := []string{s.keys.names, s.keys.times}
	var args []any
	for _, r := range seen {
		keys = append(keys, s.keys.record(r.id))
		args = append(args, member(r.id), r.ts, flag(r.done))
	}
	if _, err := s.code(ctx, s.scripts.adopt, keys, args...); err != nil {
		return fmt.Errorf("enter %d records into the index: %w", len(seen), err)
	}
	return nil
}

// forgetMissing takes a record out of the index that does not exist.
func (s *Store) forgetMissing(ctx context.Context, id events.CheckpointID) error {
	return s.forget(ctx, id, "missing", nil)
}

// forgetDone takes the completed mark from a record that a foreign writer has replaced by an open one.
func (s *Store) forgetDone(ctx context.Context, id events.CheckpointID, raw []byte) error {
	return s.forget(ctx, id, "open", raw)
}

func (s *Store) forget(ctx context.Context, id events.CheckpointID, why string, raw []byte) error {
	_, err := s.code(ctx, s.scripts.forget, []string{s.keys.record(id), s.keys.names, s.keys.times}, member(id), why, raw)
	if err != nil {
		return fmt.Errorf("correct the index entry of checkpoint %v: %w", id, err)
	}
	return nil
}

// withIndex runs use on an open store, and once more after the index was built anew when it turned out to be lost.
func (s *Store) withIndex(ctx context.Context, use func() error) error {
	if err := s.ensureOpen(ctx); err != nil {
		return err
	}
	for range rebuildAttempts {
		err := use()
		if !errors.Is(err, errNoIndex) {
			return err
		}
		if err := s.rebuild(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w, though it was built %d times: is something evicting it?", errNoIndex, rebuildAttempts)
}

// names reads members of the index between two bounds, from the highest down, in one step with a look at whether the
// index is whole. A count of 0 means all.
func (s *Store) names(ctx context.Context, maximum, minimum string, count int64) ([]events.CheckpointID, error) {
	var score *goredis.FloatCmd
	var found *goredis.StringSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		score = p.ZScore(ctx, s.keys.names, mark)
		found = p.ZRevRangeByLex(ctx, s.keys.names, &goredis.ZRangeBy{Max: maximum, Min: minimum, Count: count})
		return nil
	})
	if err != nil && !errors.Is(err, goredis.Nil) {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	if score.Err() != nil {
		return nil, errNoIndex
	}
	ids := make([]events.CheckpointID, 0, len(found.Val()))
	for _, m := range found.Val() {
		if id, ok := memberID(m[1:]); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// timed is an entry of the index by time.
type timed struct {
	id    events.CheckpointID
	score float64
}

// newest reads entries by timestamp, the newest first.
func (s *Store) newest(ctx context.Context, offset, count int64) ([]timed, error) {
	var score *goredis.FloatCmd
	var found *goredis.ZSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		score = p.ZScore(ctx, s.keys.times, mark)
		found = p.ZRevRangeByScoreWithScores(ctx, s.keys.times,
			&goredis.ZRangeBy{Max: "+inf", Min: "(-inf", Offset: offset, Count: count})
		return nil
	})
	if err != nil && !errors.Is(err, goredis.Nil) {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	if score.Err() != nil {
		return nil, errNoIndex
	}
	entries := make([]timed, 0, len(found.Val()))
	for _, z := range found.Val() {
		m, _ := z.Member.(string)
		if id, ok := memberID(m); ok {
			entries = append(entries, timed{id: id, score: z.Score})
		}
	}
	return entries, nil
}
