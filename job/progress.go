package job

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/worker"
)

// progress logs now and then how far the task has come: while it restores, and while it processes.
type progress struct {
	log   zerolog.Logger
	every time.Duration

	pipeline     atomic.Pointer[worker.Pipeline] // of the newest attempt; nil before the first
	chunks, read atomic.Int64                    // of the restore point: all, and those that are here
}

// run logs until ctx ends; a task that has not moved since the last line logs nothing.
func (p *progress) run(ctx context.Context) {
	if p.every <= 0 {
		return
	}
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	last := engine.Progress{}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if all, read := p.chunks.Load(), p.read.Load(); read < all {
			p.log.Info().Int64("percent", 100*read/all).Int64("chunks", read).Int64("of", all).Msg("restoring")
			continue
		}
		if pipeline := p.pipeline.Load(); pipeline != nil {
			last = p.say((*pipeline).Progress(), last)
		}
	}
}

func (p *progress) say(now, last engine.Progress) engine.Progress {
	if now.RecordsIn == last.RecordsIn && now.RecordsOut == last.RecordsOut {
		return now
	}
	line := p.log.Info().Int64("records_in", now.RecordsIn).Int64("records_out", now.RecordsOut).Int64("late_dropped", now.LateDropped)
	switch now.Watermark {
	case engine.MinWatermark:
	case engine.MaxWatermark:
		line = line.Str("watermark", "end of input")
	default:
		line = line.Time("watermark", time.UnixMilli(now.Watermark).UTC())
	}
	if d := now.RecordsIn - last.RecordsIn; d > 0 {
		line = line.Int64("per_second", int64(float64(d)/p.every.Seconds()))
	}
	line.Msg("processing")
	return now
}

// restoring counts what a restore reads: a worker loads one record and then every chunk of its task.
type restoring struct {
	store.JobStore
	task     events.TaskID
	progress *progress
}

// Load implements [store.Store].
func (r restoring) Load(ctx context.Context, id events.CheckpointID) (*store.Checkpoint, error) {
	cp, err := r.JobStore.Load(ctx, id)
	if err != nil {
		return cp, err
	}
	r.progress.read.Store(0)
	r.progress.chunks.Store(0)
	if value, ok, err := store.Get[json.RawMessage](cp.State, r.task.String()); err == nil && ok {
		if handle, err := events.DecodeHandle(value); err == nil { // what is wrong with it is the worker's to say
			r.progress.chunks.Store(int64(len(handle.Chunks)))
		}
	}
	return cp, nil
}

// GetChunk implements [store.Chunks].
func (r restoring) GetChunk(ctx context.Context, digest string) ([]byte, error) {
	b, err := r.JobStore.GetChunk(ctx, digest)
	if err == nil {
		r.progress.read.Add(1)
	}
	return b, err
}

// Fenced implements [store.JobStore].
func (r restoring) Fenced(f store.Fence) store.JobStore {
	r.JobStore = r.JobStore.Fenced(f)
	return r
}
