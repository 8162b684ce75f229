package redis

import (
	"fmt"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// LeaderKey is the hash with the token in force of a job: fields epoch and instance, compared by every fenced write.
func LeaderKey(job events.JobID) string { return "tm:{" + job.String() + "}:leader" }

// Job is the [store.JobStore] of one job on Redis. Make one with [NewJob].
type Job struct {
	*base
	framer *store.Framer
	life   time.Duration
}

// base is Store under a name that does not hide the method Store.
type base = Store

var _ store.JobStore = (*Job)(nil)

// NewJob returns the store of one job on a client that stays the caller's, as it is for workers and readers; a
// coordinator writes through the view of Fenced. It does no I/O. An error wraps [store.ErrInvalid].
func NewJob(client goredis.UniversalClient, job events.JobID, opts JobOptions) (*Job, error) {
	prefix, err := opts.jobPrefix(job)
	if err != nil {
		return nil, fmt.Errorf("open redis job store: %w", err)
	}
	s, err := New(client, Options{
		KeyPrefix: prefix, MaxRecord: opts.MaxRecord, ScanCount: opts.ScanCount, TrustIndex: opts.TrustIndex,
	})
	if err != nil {
		return nil, err
	}
	s.keys, s.needsFence = newKeys(prefix, LeaderKey(job)), true
	framer, err := store.NewFramer(opts.MaxChunk)
	if err != nil {
		return nil, fmt.Errorf("open redis job store: %w", err)
	}
	life := opts.ChunkLife
	if life == 0 {
		life = store.DefaultChunkLife
	}
	if life < time.Millisecond {
		return nil, fmt.Errorf("open redis job store: %w: chunk life %v is below 1ms", store.ErrInvalid, life)
	}
	return &Job{base: s, framer: framer, life: life}, nil
}

// Fenced implements [store.JobStore]. The view shares the client and the index.
func (j *Job) Fenced(f store.Fence) store.JobStore {
	view := *j.base
	view.fence, view.closed = f, new(atomic.Bool)
	return &Job{base: &view, framer: j.framer, life: j.life}
}

// RecordKey is the key of a record, as checkpoint_completed names it.
func (j *Job) RecordKey(id events.CheckpointID) string { return j.keys.record(id) }
