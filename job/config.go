package job

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/worker"
)

// Config says which share of which job to work on, where, and how. Only Job is mandatory.
type Config struct {
	Job Job
	// Index and Count: share Index, from 0, of Count. A Count of 0 means 1. Count must be the number of tasks that the coordinator
	// expects, see [worker.ErrShare].
	Index, Count int

	// Redis is the address, as --redis has it. Empty means redis://127.0.0.1:6379.
	Redis string
	// Client takes the place of Redis. It is not closed. One that sends a command again by itself, as go-redis' default does, is
	// refused: make it from options that redislog.Tune has seen.
	Client redis.UniversalClient
	// KeyPrefix stands before {job}: in the keys of records and chunks. Empty means streaming:runtime:checkpoint:, the default of
	// all programs; the coordinator must have the same.
	KeyPrefix string
	// Log and Store take the place of Redis: both or none. They are not closed.
	Log   eventlog.Job
	Store store.JobStore

	// Fresh says that a restored cut is only checked, and everything read again. False: the job goes on from it.
	Fresh bool
	// Parallelism is how many subtasks, each on a goroutine of its own, share the work behind each [engine.KeyBy] of this share; a run
	// may have another number than the one before. 0 means what the graph says itself, which is 1 unless Build does.
	Parallelism int
	// PresenceTTL, CutTimeout, UploadTimeout, DrainTimeout, Uploads and MaxState are those of [worker.Config]; 0 means its defaults.
	PresenceTTL, CutTimeout, UploadTimeout, DrainTimeout time.Duration
	Uploads                                              int
	MaxState                                             int64

	// ProgressInterval is the time between two log lines that say how far the task has come. 0 means none.
	ProgressInterval time.Duration
	// Logger takes a line for each change. The zero value logs nothing.
	Logger zerolog.Logger
}

// share checks what can be checked without Redis.
func (c Config) share() (Share, error) {
	id, err := c.Job.id()
	if err != nil {
		return Share{}, err
	}
	count := c.Count
	if count == 0 {
		count = 1
	}
	switch {
	case count < 1 || count > tasks.Max:
		return Share{}, Usagef("job %s: count %d is not within 1 to %d", id, count, tasks.Max)
	case c.Index < 0 || c.Index >= count:
		return Share{}, Usagef("job %s: index %d is not within 0 to %d", id, c.Index, count-1)
	case retries(c.Client) > 0:
		return Share{}, Usagef("job %s: the client sends a command up to %d times again by itself: make it with redislog.Tune", id, retries(c.Client))
	case c.Parallelism < 0:
		return Share{}, Usagef("job %s: parallelism %d is negative", id, c.Parallelism)
	case (c.Log == nil) != (c.Store == nil):
		return Share{}, Usagef("job %s: of Log and Store there must be both or none", id)
	case c.Log != nil && c.Log.Job() != id:
		return Share{}, Usagef("job %s: the log is that of job %s", id, c.Log.Job())
	}
	return Share{Job: id, Task: tasks.ID(c.Index + 1), Index: c.Index, Count: count, Restore: events.NoCheckpoint}, nil
}

// retries is how often a client sends a command again by itself. That of a cluster does not, unless told to.
func retries(c redis.UniversalClient) int {
	if client, ok := c.(*redis.Client); ok {
		return client.Options().MaxRetries
	}
	return 0
}

// worker is the configuration of the worker, but for log, store and pipeline.
func (c Config) worker(s Share) worker.Config {
	mode := engine.Adopt
	if c.Fresh {
		mode = engine.Fresh
	}
	return worker.Config{
		Task: s.Task, Index: s.Index, Count: s.Count, Mode: mode,
		PresenceTTL: c.PresenceTTL, CutTimeout: c.CutTimeout, UploadTimeout: c.UploadTimeout, DrainTimeout: c.DrainTimeout,
		Uploads: c.Uploads, MaxState: c.MaxState,
	}
}
