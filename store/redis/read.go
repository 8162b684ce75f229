package redis

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// readBatch bounds what one round trip of List and of opening brings into memory: so many records of the largest
// size at worst.
const readBatch = 32

// reading is one record of a batch, or why that one cannot be read.
type reading struct {
	id events.CheckpointID
	image
	err error // a CorruptError; nothing else is the fault of one record
}

// readAll fetches records in one round trip, and in a second one those that may be missing. GETRANGE and not GET, since
// it stops at the limit; it cannot tell an empty string from none.
func (s *Store) readAll(ctx context.Context, ids []events.CheckpointID) ([]reading, error) {
	readings := make([]reading, len(ids))
	cmds := make([]*goredis.StringCmd, len(ids))
	_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = p.GetRange(ctx, s.keys.record(id), 0, int64(s.opts.MaxRecord))
		}
		return nil
	})
	if err != nil && !answered(err) {
		return nil, fmt.Errorf("read %d records: %w", len(ids), err)
	}
	var empty []int
	for i, cmd := range cmds {
		readings[i].id = ids[i]
		raw, err := cmd.Bytes()
		switch {
		case wrongType(err):
			readings[i].err = &store.CorruptError{Key: s.keys.record(ids[i]), Reason: "not a string"}
		case err != nil:
			return nil, fmt.Errorf("read record %v: %w", ids[i], err)
		case len(raw) == 0:
			empty = append(empty, i)
		}
		readings[i].image = image{exists: true, raw: raw}
	}
	return readings, s.tellMissing(ctx, readings, empty)
}

// tellMissing asks about the records that came back empty.
func (s *Store) tellMissing(ctx context.Context, readings []reading, empty []int) error {
	if len(empty) == 0 {
		return nil
	}
	ids := make([]events.CheckpointID, len(empty))
	for i, at := range empty {
		ids[i] = readings[at].id
	}
	exist, err := s.exist(ctx, ids)
	if err != nil {
		return err
	}
	for i, at := range empty {
		readings[at].exists = exist[i]
	}
	return nil
}

// exist asks for each record whether there is one.
func (s *Store) exist(ctx context.Context, ids []events.CheckpointID) ([]bool, error) {
	exist := make([]bool, len(ids))
	cmds := make([]*goredis.IntCmd, len(ids))
	_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i, id := range ids {
			cmds[i] = p.Exists(ctx, s.keys.record(id))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for %d records: %w", len(ids), err)
	}
	for i, cmd := range cmds {
		exist[i] = cmd.Val() == 1
	}
	return exist, nil
}

// open decodes a record that was read: nil without an error if there is none.
func (s *Store) open(r reading) (*store.Checkpoint, error) {
	if r.err != nil || !r.exists {
		return nil, r.err
	}
	return s.decode(r.id, &r.image)
}
