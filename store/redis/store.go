package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// Store is a [store.Store] on Redis. Make one with [New].
type Store struct {
	client     goredis.UniversalClient
	opts       Options
	keys       keys
	scripts    *scripts
	fence      store.Fence
	needsFence bool
	opening    *opening
	closed     *atomic.Bool
}

var _ store.Store = (*Store)(nil)

// New returns a store on a client that stays the caller's. It does no I/O: the store opens itself at the first call that
// needs the index, or by [Store.Open]. An error wraps [store.ErrInvalid].
//
// The client may be a Client, a failover client or a ClusterClient. Set ContextTimeoutEnabled on it, or a call
// ends only with the client's own timeouts after its context has.
func New(client goredis.UniversalClient, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if err := opts.validate(client); err != nil {
		return nil, fmt.Errorf("open redis store: %w", err)
	}
	return &Store{
		client: client, opts: opts, keys: newKeys(opts.KeyPrefix, ""), scripts: newScripts(),
		opening: newOpening(), closed: new(atomic.Bool),
	}, nil
}

// Close implements [store.Store]. The client stays open.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, cp *store.Checkpoint) error {
	if cp == nil {
		return fmt.Errorf("create checkpoint: %w: it is nil", store.ErrInvalid)
	}
	c := *cp
	if c.Nonce == "" {
		c.Nonce = rand.Text()
	}
	rec, err := s.encode(&c)
	if err == nil {
		err = s.writable(ctx)
	}
	if err != nil {
		return fmt.Errorf("create checkpoint %v: %w", c.ID, err)
	}
	err = s.settle(ctx, c.ID, &image{}, func(old *image) (*record, error) {
		if !old.exists {
			return rec, nil
		}
		found, err := s.decode(c.ID, old)
		if err == nil && found.Nonce == c.Nonce {
			return nil, nil
		}
		// A foreign record may be unknown to the index; then HighestID would lead to the same id again and again.
		return nil, errors.Join(store.ErrExists, s.adopt(ctx, []sighting{see(c.ID, found, err)}))
	})
	if err != nil {
		return fmt.Errorf("create checkpoint %v: %w", c.ID, err)
	}
	return nil
}

// Store implements [store.Store].
func (s *Store) Store(ctx context.Context, cp *store.Checkpoint) error {
	if cp == nil {
		return fmt.Errorf("store checkpoint: %w: it is nil", store.ErrInvalid)
	}
	rec, err := s.encode(cp)
	if err == nil {
		err = s.writable(ctx)
	}
	if err != nil {
		return fmt.Errorf("store checkpoint %v: %w", cp.ID, err)
	}
	err = s.settle(ctx, cp.ID, nil, func(old *image) (*record, error) {
		return rec, s.replaceable(cp, old)
	})
	if err != nil {
		return fmt.Errorf("store checkpoint %v: %w", cp.ID, err)
	}
	return nil
}

// replaceable refuses to open a completed record, and to write over one that a newer release has written. A corrupt
// one is replaced: that is how it is mended.
func (s *Store) replaceable(cp *store.Checkpoint, old *image) error {
	if !old.exists {
		return nil
	}
	found, err := s.decode(cp.ID, old)
	return store.CheckReplace(cp, found, err)
}

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	cp, err := s.load(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint %v: %w", id, err)
	}
	return cp, nil
}

func (s *Store) load(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	old, err := s.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if !old.exists {
		return nil, store.ErrNotFound
	}
	return s.decode(id, old)
}

// Complete implements [store.Store].
func (s *Store) Complete(
	ctx context.Context, id events.CheckpointID, merge func(*store.Checkpoint) error,
) (*store.Checkpoint, error) {
	if err := s.writable(ctx); err != nil {
		return nil, fmt.Errorf("complete checkpoint %v: %w", id, err)
	}
	var result *store.Checkpoint
	err := s.settle(ctx, id, nil, func(old *image) (*record, error) {
		if !old.exists {
			return nil, store.ErrNotFound
		}
		cp, err := s.decode(id, old)
		if err != nil {
			return nil, err
		}
		if result = cp; cp.Completed {
			return nil, nil
		}
		if merge == nil {
			cp.Complete()
			return s.encode(cp)
		}
		if err := merge(cp); err != nil {
			return nil, err
		}
		cp.ID, cp.Completed = id, true
		rec, err := s.encode(cp)
		result = cp.Head() // merge may keep what it put in
		return rec, err
	})
	if err != nil {
		return nil, fmt.Errorf("complete checkpoint %v: %w", id, err)
	}
	return result, nil
}
