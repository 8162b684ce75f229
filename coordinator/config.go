package coordinator

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store"
)

// Defaults of [Config].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultQueueLimit   = 1000
	DefaultLeaseTTL     = 10 * time.Second
	DefaultPresenceTTL  = 10 * time.Second
	DefaultDrainTimeout = 30 * time.Second
	DefaultStoreTimeout = 30 * time.Second
	DefaultChunkGrace   = time.Hour
	// DefaultRetain is how many completed checkpoints the service keeps. The library keeps all until Cleanup is called.
	DefaultRetain = 5
	// Never, as a timeout, means that a checkpoint waits for ever.
	Never = time.Duration(-1)
)

// Config says what a coordinator coordinates. Job, Log, Store and exactly one of Tasks and RequiredAcks are mandatory.
type Config struct {
	// Job names the job. Default: "default", for library use.
	Job events.JobID
	// Instance is unique for this start of the process. Default: random.
	Instance events.InstanceID
	// Build is the version of the program, for the reader of the log.
	Build string

	// Log is what the job keeps of its coordination: the event log and what goes with it. It is not closed.
	// Default: one in memory, for library use; it is trimmed behind the saved fold.
	Log eventlog.Job
	// Store holds the checkpoint records. It is not closed. A [store.JobStore] is written under the coordinator's token
	// and holds state chunks too, and records of failed checkpoints are removed from it. Any other store is for library
	// use: it has no protection against a second process, and only Cleanup removes records.
	Store store.Store

	// Tasks is the expected task set: each must ack, and must be registered and restored before a trigger.
	Tasks []events.TaskID
	// RequiredAcks is the number of distinct tasks whose acks complete a checkpoint; nobody registers.
	RequiredAcks int

	// Interval between periodic triggers. 0: none, and a line in the log says so.
	Interval time.Duration
	// MinPause between the end of a checkpoint and the next periodic trigger. 0: none.
	MinPause time.Duration
	// Timeout of a pending checkpoint, counted from when its trigger was read back. 0: 60 s; negative: never.
	Timeout time.Duration
	// MaxConcurrent is how many checkpoints may be pending at once; savepoints do not count. 0: 1 with Tasks, any number with
	// RequiredAcks; negative: any number.
	MaxConcurrent int
	// Retain is how many completed checkpoints are kept; older ones are retired. 0 or less: all, until Cleanup.
	Retain int
	// FallBack withdraws by itself a restore point that a worker could not put in place and that this coordinator could not
	// read either, if an older one can be read: tasks then go back further than to the newest checkpoint, and produce again what
	// has been committed since. Without it a person decides (the verb withdraw).
	FallBack bool
	// QueueLimit bounds the requests that wait. 0: 1000.
	QueueLimit int

	// LeaseTTL is how long the lease outlives its last renewal; a standby takes over after that. 0: 10 s.
	LeaseTTL time.Duration
	// PresenceTTL is how long a task without a sign of life counts as alive. 0: 10 s.
	PresenceTTL time.Duration
	// DrainTimeout is how long a shutdown waits for pending checkpoints; then it fails them by name. 0: 30 s.
	DrainTimeout time.Duration
	// StoreTimeout bounds one access of the store. 0: 30 s.
	StoreTimeout time.Duration
	// ChunkGrace is the life that a chunk gets when nothing refers to it any more. It must outlast a checkpoint, since
	// a pending one may be about to refer to the chunk again. 0: 1 h.
	ChunkGrace time.Duration
	// MaxRecord is the limit of an encoded record that the store was opened with, in bytes: a checkpoint whose handles do not
	// fit fails before it completes. 0: [store.DefaultMaxRecord].
	MaxRecord int
	trimLog   bool // the log is our own, in memory

	// Logger takes the story of each checkpoint, a line a change of state. The zero value logs nothing.
	Logger zerolog.Logger
}

func (c Config) withDefaults() Config {
	if c.Job == "" {
		c.Job = "default"
	}
	if c.Instance == "" {
		c.Instance = "coordinator-" + eventlog.NewInstanceID()
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log, c.trimLog = memlog.New(memlog.Config{Job: c.Job}), true
	}
	switch {
	case c.MaxConcurrent != 0:
	case c.RequiredAcks > 0:
		c.MaxConcurrent = -1
	default:
		c.MaxConcurrent = 1
	}
	if c.MaxRecord == 0 {
		c.MaxRecord = store.DefaultMaxRecord
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = DefaultQueueLimit
	}
	setDuration(&c.LeaseTTL, DefaultLeaseTTL)
	setDuration(&c.PresenceTTL, DefaultPresenceTTL)
	setDuration(&c.DrainTimeout, DefaultDrainTimeout)
	setDuration(&c.StoreTimeout, DefaultStoreTimeout)
	setDuration(&c.ChunkGrace, DefaultChunkGrace)
	return c
}

func setDuration(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

func (c Config) validate() error {
	if c.Store == nil {
		return errors.New("coordinator config: Store is missing")
	}
	if (len(c.Tasks) > 0) == (c.RequiredAcks > 0) {
		return errors.New("coordinator config: exactly one of Tasks and RequiredAcks is needed")
	}
	if _, err := events.ParseJobID(string(c.Job)); err != nil {
		return fmt.Errorf("coordinator config: %w", err)
	}
	if err := c.validateTimes(); err != nil {
		return fmt.Errorf("coordinator config: %w", err)
	}
	start := c.candidate(0) // what it would begin with must be an event that the log takes
	start.Event = eventlog.NewEventID()
	if _, err := eventlog.ToWire(start.Started(1)); err != nil {
		return fmt.Errorf("coordinator config: %w", err)
	}
	return nil
}

func (c Config) validateTimes() error {
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"Interval", c.Interval, 0},
		{"MinPause", c.MinPause, 0},
		{"LeaseTTL", c.LeaseTTL, minLife},
		{"PresenceTTL", c.PresenceTTL, minLife},
		{"DrainTimeout", c.DrainTimeout, 0},
		{"StoreTimeout", c.StoreTimeout, time.Millisecond},
		{"ChunkGrace", c.ChunkGrace, time.Millisecond},
	} {
		if d.value < d.least {
			return fmt.Errorf("%s %s is below %s", d.name, d.value, d.least)
		}
	}
	if c.Interval > 0 && c.Interval < minInterval {
		return fmt.Errorf("an Interval of %s is below %s", c.Interval, minInterval)
	}
	if c.Timeout > 0 && c.ChunkGrace < c.Timeout {
		return fmt.Errorf("a ChunkGrace of %s must outlast the Timeout of %s", c.ChunkGrace, c.Timeout)
	}
	return nil
}

// candidate is this coordinator in a campaign for an epoch above the highest seen.
func (c Config) candidate(seen events.Epoch) eventlog.Candidate {
	return eventlog.Candidate{
		Instance: c.Instance, Build: c.Build, Policy: c.policy(), TTL: c.LeaseTTL, MinEpoch: seen, At: time.Now().UnixMilli(),
	}
}

const (
	minInterval = 10 * time.Millisecond  // the shortest period: Flink's floor
	minLife     = 100 * time.Millisecond // of a lease or a sign of life: a third of it is the time between two looks
)

// policy is what the log says of the configuration.
func (c Config) policy() events.Policy {
	p := events.Policy{
		Tasks: c.Tasks, Count: int64(c.RequiredAcks),
		Interval: c.Interval.Milliseconds(), MinPause: c.MinPause.Milliseconds(), Timeout: c.Timeout.Milliseconds(),
		MaxConcurrent: int64(c.MaxConcurrent), Retain: int64(c.Retain), QueueLimit: int64(c.QueueLimit),
	}
	if c.Timeout < 0 {
		p.Timeout = -1
	} else if p.Timeout == 0 {
		p.Timeout = 1 // a timeout below a millisecond is not "never"
	}
	if c.MaxConcurrent < 0 {
		p.MaxConcurrent = math.MaxInt32
	}
	if c.Retain <= 0 {
		p.Retain = math.MaxInt32
	}
	return p
}
