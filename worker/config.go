package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/store"
)

// Defaults of [Config].
const (
	DefaultPresenceTTL   = 10 * time.Second
	DefaultCutTimeout    = 10 * time.Second
	DefaultUploadTimeout = time.Minute
	DefaultDrainTimeout  = 30 * time.Second
	DefaultUploads       = 1
	DefaultMaxState      = 4 << 30
)

// Pipeline is what a worker runs: an [engine.Pipeline], or something that behaves like one.
type Pipeline interface {
	// Run processes until the input ends (nil), a function fails, or ctx ends.
	Run(ctx context.Context) error
	// Cut takes a snapshot between two records, also before and after Run.
	Cut(ctx context.Context, id int64) (*engine.Snapshot, error)
	// Restore puts the items of a cut in place, before Run.
	Restore(ctx context.Context, cut map[string][]byte, mode engine.RestoreMode) error
	// Completed commits what the cut of that id covers, and all before. Repeating it is harmless. An error is no end: it is called
	// again every second, unless the error says that this is of no use ([ErrCommit]).
	Completed(ctx context.Context, id int64) error
	// Failed says that the checkpoint of that id will never complete; what it covers rides in the next cut.
	Failed(ctx context.Context, id int64) error
	// Progress never waits.
	Progress() engine.Progress
}

var _ Pipeline = (*engine.Pipeline)(nil)

// Start is what a job's function is told about the run that it builds a pipeline for.
type Start struct {
	Job  events.JobID
	Task events.TaskID
	// Index is the task's number, from 0, of Count.
	Index, Count int
	Attempt      events.Attempt
	// Restore is the checkpoint that will be put in place; [events.NoCheckpoint] for none.
	Restore events.CheckpointID
}

// Config says which task of which job to work on, and how. Task, Build, Log and Store are mandatory.
type Config struct {
	Task events.TaskID
	// Index and Count are handed to Build: this is share Index, from 0, of Count. A Count that is set must be the number of
	// tasks that the coordinator expects, see [ErrShare]; a job whose tasks are not shares of one input leaves it at 0, which
	// means 1 and is not compared.
	Index, Count int
	// Build makes the pipeline. It is called once for each attempt.
	Build func(Start) (Pipeline, error)
	// Log is the job's log. It is not closed.
	Log eventlog.Job
	// Store holds the job's records and state chunks. It is not closed.
	Store store.JobStore
	// Mode says what becomes of a restored cut. The zero value, engine.Fresh, reads everything again; a job whose sources
	// can seek wants engine.Adopt.
	Mode engine.RestoreMode

	// PresenceTTL is how long the task counts as alive after its last sign of life, of which it gives three in that
	// time. It must not be longer than the coordinator's. 0: 10 s.
	PresenceTTL time.Duration
	// CutTimeout bounds the wait for the record in work. Beyond it the checkpoint is declined. 0: 10 s.
	CutTimeout time.Duration
	// UploadTimeout bounds serialising and storing one cut. Beyond it the checkpoint is declined. 0: 60 s.
	UploadTimeout time.Duration
	// DrainTimeout is how long a shutdown waits for a cut that is being stored. 0: 30 s.
	DrainTimeout time.Duration
	// Uploads is how many chunks are stored at once (the "checkpoint threads"). 0: 1.
	Uploads int
	// MaxState is the largest cut in bytes before compression; a larger one is declined. 0: 4 GiB.
	MaxState int64
	// Logger takes a line for each change. The zero value logs nothing.
	Logger zerolog.Logger
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&c.PresenceTTL, DefaultPresenceTTL},
		{&c.CutTimeout, DefaultCutTimeout},
		{&c.UploadTimeout, DefaultUploadTimeout},
		{&c.DrainTimeout, DefaultDrainTimeout},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	if c.Uploads == 0 {
		c.Uploads = DefaultUploads
	}
	if c.MaxState == 0 {
		c.MaxState = DefaultMaxState
	}
	if c.Count == 0 {
		c.Count = 1
	}
	return c
}

func (c Config) validate() error {
	if c.Build == nil || c.Log == nil || c.Store == nil {
		return errors.New("worker config: Build, Log and Store are needed")
	}
	if _, err := events.ParseTaskID(string(c.Task)); err != nil {
		return fmt.Errorf("worker config: %w", err)
	}
	if c.Index < 0 || c.Index >= c.Count {
		return fmt.Errorf("worker config: index %d is not within 0 to %d", c.Index, c.Count-1)
	}
	if c.PresenceTTL < 0 || c.CutTimeout < 0 || c.UploadTimeout < 0 || c.DrainTimeout < 0 || c.Uploads < 0 || c.MaxState < 0 {
		return errors.New("worker config: a time, Uploads or MaxState is negative")
	}
	return nil
}
