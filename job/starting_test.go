package job_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/job"
)

// awaitRestorePoint returns when a checkpoint that holds records has completed.
func awaitRestorePoint(t *testing.T, log eventlog.Job, records *atomic.Int64) {
	t.Helper()
	await(t, func() bool { return records.Load() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := events.NoCheckpoint
	for c, err := range log.FollowControl(ctx, eventlog.FollowOptions{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case first.IsZero():
			first = c.LatestCompleted
		case c.LatestCompleted >= first+2: // the next one may have been cut already
			return
		}
	}
	t.Fatalf("waited for %s in vain", patience)
}

// The state of each attempt can be asked for from its restore point on, before its first record and while it runs.
func TestThePipelineOfEachAttemptIsHandedOutOnceRestored(t *testing.T) {
	const last, name, key = 20_000, "store-1.reduce", "1"
	log, records := inMemory(t, "task-1")
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	var seen atomic.Int64
	started := make(chan *engine.Pipeline, 1) // sent once by the first attempt; one place, so that it does not block

	first, cancel := context.WithCancel(ctx)
	defer cancel()
	j := counted(filepath.Join(t.TempDir(), "sums.jsonl"), last, 1000, &seen)
	j.Started = func(s job.Share, p *engine.Pipeline) {
		if _, ok, err := engine.Lookup[int](ctx, p, name, key); ok || err != nil || seen.Load() != 0 || s.Attempt != 1 {
			t.Errorf("attempt %s has state %v after %d records: %v", s.Attempt, ok, seen.Load(), err)
		}
		started <- p
	}
	ended := make(chan error, 1) // sent once
	go func() { ended <- job.Run(first, job.Config{Job: j, Log: log, Store: records}) }()
	var p *engine.Pipeline
	select {
	case p = <-started:
	case <-ctx.Done():
		t.Fatal("nobody was told of the pipeline")
	}
	await(t, func() bool {
		n, ok, err := engine.Lookup[int](ctx, p, name, key)
		return err == nil && ok && n > 1
	})
	awaitRestorePoint(t, log, &seen)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	before := seen.Swap(0)
	j.Started = func(s job.Share, p *engine.Pipeline) {
		n, ok, err := engine.Lookup[int](ctx, p, name, key)
		if n < 1 || !ok || err != nil || seen.Load() != 0 || s.Attempt != 2 || s.Restore.IsZero() {
			t.Errorf("attempt %s restored %d of %d records and read %d: %v", s.Attempt, n, before, seen.Load(), err)
		}
		end()
	}
	if err := job.Run(ctx, job.Config{Job: j, Log: log, Store: records}); err != nil {
		t.Fatal(err)
	}
}
