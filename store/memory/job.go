package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/store"
)

// JobOptions configure [NewJob]. The zero value is ready.
type JobOptions struct {
	// Leader says which token is in force, and false if none is. It is called under the store's lock at each fenced write
	// and must not use the store. Default nil: what [Job.SetLeader] was given last.
	Leader func() (store.Fence, bool)
	// MaxRecord is the limit of an encoded record in bytes. Default 0 means [store.DefaultMaxRecord].
	MaxRecord int
	// MaxChunk is the limit of the content of a chunk in bytes. Default 0 means [store.DefaultMaxChunk].
	MaxChunk int64
	// ChunkLife is how long an unclaimed chunk lives. Default 0 means [store.DefaultChunkLife].
	ChunkLife time.Duration
}

// Job is a [store.JobStore] in memory. Make one with [NewJob].
type Job struct {
	*base
	chunks *chunks
	leader *leader
}

// base is Store under a name that does not hide the method Store.
type base = Store

// leader stands for the leader entry of a job.
type leader struct {
	ask func() (store.Fence, bool)

	mu  sync.Mutex
	set store.Fence // guarded by mu
}

var _ store.JobStore = (*Job)(nil)

// NewJob returns the empty store of one job. An error wraps [store.ErrInvalid].
func NewJob(opts JobOptions) (*Job, error) {
	framer, err := store.NewFramer(opts.MaxChunk)
	if err != nil {
		return nil, fmt.Errorf("open memory job store: %w", err)
	}
	life := opts.ChunkLife
	if life == 0 {
		life = store.DefaultChunkLife
	}
	if life < 0 {
		return nil, fmt.Errorf("open memory job store: %w: chunk life %v", store.ErrInvalid, life)
	}
	j := &Job{
		base:   New(Options{MaxRecord: opts.MaxRecord}),
		chunks: &chunks{framer: framer, life: life, byDigest: map[string]chunk{}},
		leader: &leader{ask: opts.Leader},
	}
	j.permit = func() error { return j.leader.check(store.Fence{}) }
	return j, nil
}

// SetLeader puts a token in force; the zero one puts none in force. It has no effect when [JobOptions.Leader] was given.
func (j *Job) SetLeader(f store.Fence) {
	j.leader.mu.Lock()
	defer j.leader.mu.Unlock()
	j.leader.set = f
}

// Fenced implements [store.JobStore].
func (j *Job) Fenced(f store.Fence) store.JobStore {
	view := *j.base
	view.closed = new(atomic.Bool)
	view.permit = func() error { return j.leader.check(f) }
	return &Job{base: &view, chunks: j.chunks, leader: j.leader}
}

// check compares a view's token with the one in force.
func (l *leader) check(f store.Fence) error {
	if f.IsZero() {
		return fmt.Errorf("%w: the store was opened without a token", store.ErrFenced)
	}
	now, ok := l.current()
	if !ok || now != f {
		return store.ErrFenced
	}
	return nil
}

func (l *leader) current() (store.Fence, bool) {
	if l.ask != nil {
		return l.ask()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set, !l.set.IsZero()
}

// PutChunk implements [store.Chunks].
func (j *Job) PutChunk(ctx context.Context, data []byte) (store.ChunkRef, error) {
	if err := j.usable(ctx); err != nil {
		return store.ChunkRef{}, fmt.Errorf("put chunk: %w", err)
	}
	ref, err := j.chunks.put(data)
	if err != nil {
		return store.ChunkRef{}, fmt.Errorf("put chunk: %w", err)
	}
	return ref, nil
}

// GetChunk implements [store.Chunks].
func (j *Job) GetChunk(ctx context.Context, digest string) ([]byte, error) {
	if err := j.usable(ctx); err != nil {
		return nil, fmt.Errorf("get chunk %s: %w", digest, err)
	}
	data, err := j.chunks.get(digest)
	if err != nil {
		return nil, fmt.Errorf("get chunk %s: %w", digest, err)
	}
	return data, nil
}

// Keep implements [store.Chunks].
func (j *Job) Keep(ctx context.Context, digests []string) ([]string, error) {
	if err := j.writable(ctx, digests); err != nil {
		return nil, fmt.Errorf("keep chunks: %w", err)
	}
	return j.chunks.keep(digests), nil
}

// Release implements [store.Chunks].
func (j *Job) Release(ctx context.Context, digests []string, grace time.Duration) error {
	if grace < time.Millisecond {
		return fmt.Errorf("release chunks: %w: grace %v is below 1ms", store.ErrInvalid, grace)
	}
	if err := j.writable(ctx, digests); err != nil {
		return fmt.Errorf("release chunks: %w", err)
	}
	j.chunks.release(digests, grace)
	return nil
}

func (j *Job) writable(ctx context.Context, digests []string) error {
	if err := j.usable(ctx); err != nil {
		return err
	}
	for _, d := range digests {
		if err := store.CheckDigest(d); err != nil {
			return err
		}
	}
	j.db.mu.Lock()
	defer j.db.mu.Unlock()
	return j.permitted()
}
