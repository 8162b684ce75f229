package redis

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// settleAttempts bounds how often a write is decided anew because the record changed, or because an answer got lost.
const settleAttempts = 16

// image is what is stored under the key of a record, as it was read.
type image struct {
	exists bool
	raw    []byte
}

// record is what is to be stored.
type record struct {
	raw  []byte
	ts   int64
	done bool
}

func (s *Store) encode(cp *store.Checkpoint) (*record, error) {
	raw, err := store.EncodeRecord(cp, s.opts.MaxRecord)
	if err != nil {
		return nil, err
	}
	return &record{raw: raw, ts: cp.Timestamp, done: cp.Completed}, nil
}

func (s *Store) decode(id events.CheckpointID, old *image) (*store.Checkpoint, error) {
	return store.DecodeRecord(s.keys.record(id), id, old.raw, s.opts.MaxRecord)
}

// settle writes what decide makes of the stored record, if the record is still that one when it is written. Otherwise, and
// when the answer got lost, it reads again and decides again, so that the outcome is known at the end: an image that
// equals what may have been written is success. decide returns nil when there is nothing to write. old is what to
// assume at first; nil means read it.
func (s *Store) settle(
	ctx context.Context, id events.CheckpointID, old *image, decide func(*image) (*record, error),
) error {
	var lost *record
	var lostErr error
	for range settleAttempts {
		var err error
		if old == nil {
			if old, err = s.read(ctx, id); err != nil {
				return inDoubt(err, lostErr)
			}
			if lost != nil && old.exists && bytes.Equal(old.raw, lost.raw) {
				return nil
			}
		}
		rec, err := decide(old)
		if err != nil || rec == nil {
			if lead := s.stillLeading(ctx); err == nil || errors.Is(lead, store.ErrFenced) {
				err = lead
			}
			return inDoubt(err, lostErr)
		}
		written, err := s.swap(ctx, id, old, rec)
		switch {
		case written:
			return nil
		case err != nil && !lostAnswer(err):
			return inDoubt(err, lostErr)
		case err != nil:
			lost, lostErr = rec, err
		}
		old = nil
	}
	if lostErr != nil {
		return unknown(lostErr)
	}
	return store.ErrContended
}

// inDoubt adds to an error that an earlier attempt of the same write may have happened.
func inDoubt(err, lost error) error {
	if err == nil || lost == nil {
		return err
	}
	return unknown(err, lost)
}

// swap is one compare and set. It returns false without an error when the record was not as expected.
func (s *Store) swap(ctx context.Context, id events.CheckpointID, old *image, rec *record) (bool, error) {
	expect := "absent"
	if old.exists {
		expect = "bytes"
	}
	epoch, instance := s.token()
	n, err := s.code(ctx, s.scripts.swap,
		[]string{s.keys.leader, s.keys.record(id), s.keys.names, s.keys.times},
		epoch, instance, expect, old.raw, rec.raw, member(id), strconv.FormatInt(rec.ts, 10), flag(rec.done))
	switch {
	case wrongType(err):
		return false, &store.CorruptError{Key: s.keys.record(id), Reason: "not a string"}
	case err == nil && n == codeFenced:
		return false, store.ErrFenced
	}
	return n == codeDone, err
}

// lostAnswer reports whether a write with this error may have happened.
func lostAnswer(err error) bool {
	return !answered(err) && !errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrCorrupt)
}

// read fetches a record, one byte more than the limit allows at most.
func (s *Store) read(ctx context.Context, id events.CheckpointID) (*image, error) {
	images, err := s.readAll(ctx, []events.CheckpointID{id})
	if err != nil {
		return nil, err
	}
	return &images[0].image, images[0].err
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
