package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// Options configure [New]. The zero value is ready.
type Options struct {
	// MaxRecord is the limit of an encoded record in bytes. Default 0 means [store.DefaultMaxRecord].
	MaxRecord int
}

// completeAttempts bounds the reads of Complete while the record keeps changing, as in store/redis.
const completeAttempts = 16

// Store is a [store.Store] in memory. Make one with [New].
type Store struct {
	opts   Options
	db     *records
	permit func() error // called under the lock of db before every write; nil permits
	closed *atomic.Bool
}

// records are the encoded bytes, as a server would hold them, so that both implementations decode what they return.
type records struct {
	mu   sync.Mutex
	byID map[events.CheckpointID]entry
	high events.CheckpointID // highest id ever written
}

// entry is one record. done is what was last known of it, as an index would: the bytes may be damaged since.
type entry struct {
	raw  []byte
	done bool
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(opts Options) *Store {
	db := &records{byID: map[events.CheckpointID]entry{}, high: events.NoCheckpoint}
	return &Store{opts: opts, db: db, closed: new(atomic.Bool)}
}

// PutRaw writes the bytes of a record as they are, as a foreign writer would: a test plants corrupt and legacy
// records with it.
func (s *Store) PutRaw(id events.CheckpointID, raw []byte) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	done := s.db.byID[id].done
	s.db.put(id, bytes.Clone(raw), done)
	if cp, err := s.read(id); err == nil {
		s.db.put(id, bytes.Clone(raw), cp.Completed)
	}
}

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, cp *store.Checkpoint) error {
	if cp == nil {
		return fmt.Errorf("create checkpoint: %w: it is nil", store.ErrInvalid)
	}
	return s.write(ctx, "create", cp.ID, func() error {
		c := *cp
		if c.Nonce == "" {
			c.Nonce = rand.Text()
		}
		b, err := store.EncodeRecord(&c, s.opts.MaxRecord)
		if err != nil {
			return err
		}
		if _, exists := s.db.byID[c.ID]; !exists {
			s.db.put(c.ID, b, c.Completed)
			return nil
		}
		if old, err := s.read(c.ID); err != nil || old.Nonce != c.Nonce {
			return store.ErrExists
		}
		return nil
	})
}

// Store implements [store.Store].
func (s *Store) Store(ctx context.Context, cp *store.Checkpoint) error {
	if cp == nil {
		return fmt.Errorf("store checkpoint: %w: it is nil", store.ErrInvalid)
	}
	return s.write(ctx, "store", cp.ID, func() error {
		b, err := store.EncodeRecord(cp, s.opts.MaxRecord)
		if err != nil {
			return err
		}
		if _, exists := s.db.byID[cp.ID]; exists {
			old, err := s.read(cp.ID)
			if err := store.CheckReplace(cp, old, err); err != nil {
				return err
			}
		}
		s.db.put(cp.ID, b, cp.Completed)
		return nil
	})
}

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	if err := s.usable(ctx); err != nil {
		return nil, fmt.Errorf("load checkpoint %v: %w", id, err)
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	cp, err := s.read(id)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint %v: %w", id, err)
	}
	return cp, nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, limit int) ([]*store.Checkpoint, error) {
	if limit < 0 {
		return nil, fmt.Errorf("list checkpoints: %w: limit %d", store.ErrInvalid, limit)
	}
	if err := s.usable(ctx); err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	if limit == 0 {
		return nil, nil
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	all, bad := s.readAll()
	slices.SortFunc(all, func(a, b *store.Checkpoint) int {
		return cmp.Or(cmp.Compare(b.Timestamp, a.Timestamp), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], bad.orNil()
}

// Latest implements [store.Store].
func (s *Store) Latest(ctx context.Context) (*store.Checkpoint, error) {
	if err := s.usable(ctx); err != nil {
		return nil, fmt.Errorf("latest checkpoint: %w", err)
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	var bad unreadable
	for _, id := range slices.Backward(s.db.ids()) {
		cp, err := s.read(id)
		switch {
		case err != nil:
			bad = append(bad, err)
		case cp.Completed:
			return cp, bad.orNil()
		}
	}
	if len(bad) > 0 {
		return nil, bad.orNil()
	}
	return nil, store.ErrNone
}

// HighestID implements [store.Store].
func (s *Store) HighestID(ctx context.Context) (events.CheckpointID, error) {
	if err := s.usable(ctx); err != nil {
		return events.NoCheckpoint, fmt.Errorf("highest checkpoint id: %w", err)
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	return s.db.high, nil
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// write runs do under the lock, after the token has been compared under the same lock.
func (s *Store) write(ctx context.Context, what string, id events.CheckpointID, do func() error) error {
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("%s checkpoint %v: %w", what, id, err)
	}
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if err := s.permitted(); err != nil {
		return fmt.Errorf("%s checkpoint %v: %w", what, id, err)
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s checkpoint %v: %w", what, id, err)
	}
	return nil
}

func (s *Store) permitted() error {
	if s.permit == nil {
		return nil
	}
	return s.permit()
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

// read decodes one record; the lock is held.
func (s *Store) read(id events.CheckpointID) (*store.Checkpoint, error) {
	e, ok := s.db.byID[id]
	if !ok {
		return nil, store.ErrNotFound
	}
	return store.DecodeRecord("checkpoint "+id.String(), id, e.raw, s.opts.MaxRecord)
}

func (s *Store) readAll() ([]*store.Checkpoint, unreadable) {
	var all []*store.Checkpoint
	var bad unreadable
	for _, id := range s.db.ids() {
		cp, err := s.read(id)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, cp)
	}
	return all, bad
}

func (r *records) put(id events.CheckpointID, raw []byte, done bool) {
	r.byID[id] = entry{raw: raw, done: done}
	r.high = max(r.high, id)
}

// ids are ascending.
func (r *records) ids() []events.CheckpointID { return slices.Sorted(maps.Keys(r.byID)) }

// unreadable are the errors of records that were left out.
type unreadable []error

func (u unreadable) orNil() error {
	if len(u) == 0 {
		return nil
	}
	return &store.SkippedError{Records: u}
}
