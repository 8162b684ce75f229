package storetest

import (
	"context"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// NewFaulty puts a store behind faults. Closing it closes the store.
func NewFaulty(inner store.Store, faults *Faults) store.Store {
	return &faulty{inner: inner, faults: faults}
}

// NewFaultyJob puts a job store behind faults; so are all views that Fenced makes of it, behind the same ones.
func NewFaultyJob(inner store.JobStore, faults *Faults) store.JobStore {
	return &faultyJob{faulty: faulty{inner: inner, faults: faults}, job: inner}
}

type faulty struct {
	inner  store.Store
	faults *Faults
}

func (f *faulty) Create(ctx context.Context, cp *store.Checkpoint) error {
	return f.faults.run(ctx, OpCreate, func() error { return f.inner.Create(ctx, cp) })
}

func (f *faulty) Store(ctx context.Context, cp *store.Checkpoint) error {
	return f.faults.run(ctx, OpStore, func() error { return f.inner.Store(ctx, cp) })
}

func (f *faulty) Load(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	return run(ctx, f.faults, OpLoad, nil, func() (*store.Checkpoint, error) { return f.inner.Load(ctx, id) })
}

func (f *faulty) List(ctx context.Context, limit int) ([]*store.Checkpoint, error) {
	return run(ctx, f.faults, OpList, nil, func() ([]*store.Checkpoint, error) { return f.inner.List(ctx, limit) })
}

func (f *faulty) Latest(ctx context.Context) (*store.Checkpoint, error) {
	return run(ctx, f.faults, OpLatest, nil, func() (*store.Checkpoint, error) { return f.inner.Latest(ctx) })
}

func (f *faulty) HighestID(ctx context.Context) (events.CheckpointID, error) {
	return run(ctx, f.faults, OpHighestID, events.NoCheckpoint, func() (events.CheckpointID, error) {
		return f.inner.HighestID(ctx)
	})
}

func (f *faulty) Complete(
	ctx context.Context, id events.CheckpointID, merge func(*store.Checkpoint) error,
) (*store.Checkpoint, error) {
	return run(ctx, f.faults, OpComplete, nil, func() (*store.Checkpoint, error) {
		return f.inner.Complete(ctx, id, merge)
	})
}

func (f *faulty) Delete(ctx context.Context, id events.CheckpointID) (bool, error) {
	return run(ctx, f.faults, OpDelete, false, func() (bool, error) { return f.inner.Delete(ctx, id) })
}

func (f *faulty) Cleanup(
	ctx context.Context, keep int, protected func(events.CheckpointID) bool,
) (int, error) {
	return run(ctx, f.faults, OpCleanup, 0, func() (int, error) { return f.inner.Cleanup(ctx, keep, protected) })
}

func (f *faulty) Close() error { return f.inner.Close() }

type faultyJob struct {
	faulty
	job store.JobStore
}

func (f *faultyJob) PutChunk(ctx context.Context, data []byte) (store.ChunkRef, error) {
	return run(ctx, f.faults, OpPutChunk, store.ChunkRef{}, func() (store.ChunkRef, error) {
		return f.job.PutChunk(ctx, data)
	})
}

func (f *faultyJob) GetChunk(ctx context.Context, digest string) ([]byte, error) {
	return run(ctx, f.faults, OpGetChunk, nil, func() ([]byte, error) { return f.job.GetChunk(ctx, digest) })
}

func (f *faultyJob) Keep(ctx context.Context, digests []string) ([]string, error) {
	return run(ctx, f.faults, OpKeep, nil, func() ([]string, error) { return f.job.Keep(ctx, digests) })
}

func (f *faultyJob) Release(ctx context.Context, digests []string, grace time.Duration) error {
	return f.faults.run(ctx, OpRelease, func() error { return f.job.Release(ctx, digests, grace) })
}

func (f *faultyJob) Fenced(fence store.Fence) store.JobStore {
	return NewFaultyJob(f.job.Fenced(fence), f.faults)
}

// run gives back the result of the call unless a fault hit it: a caller that got an error learns nothing else. An error
// of the store itself keeps its result, which List and Latest fill beside a SkippedError.
func run[T any](ctx context.Context, faults *Faults, op Op, none T, call func() (T, error)) (T, error) {
	result := none
	var own error
	err := faults.run(ctx, op, func() error {
		result, own = call()
		return own
	})
	if err != nil && own == nil {
		return none, err
	}
	return result, err
}
