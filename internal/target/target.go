package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/redisconn"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// DefaultRedis is the address without any setting: a Redis on this machine.
const DefaultRedis = "redis://127.0.0.1:6379"

// DefaultJob is the job without any setting, that of the demo and of docker-compose.yml.
const DefaultJob = "flights"

// connectTimeout bounds the first contact, so that a wrong address is told soon.
const connectTimeout = 5 * time.Second

// Flags are --redis, --job and --key-prefix.
type Flags struct {
	redis, job, prefix string
	embedded           bool
}

// Add adds them to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", DefaultRedis, "address of Redis: redis://, rediss://, redis+sentinel:// or redis+cluster://; also from REDIS_URL")
	flags.StringVar(&f.job, "job", DefaultJob, "name of the job")
	flags.StringVar(&f.prefix, "key-prefix", storeredis.DefaultJobKeyPrefix, "what stands before {job}: in the keys of records and chunks")
	flags.BoolVar(&f.embedded, "embedded-redis", false, "the server is the demo's embedded one: poll instead of block")
	if err := flags.MarkHidden("embedded-redis"); err != nil {
		panic(err) // the flag was added the line before
	}
}

// Target is an open job. Close it.
type Target struct {
	Job events.JobID
	// Logger is the one given to Open; while Redis is away it says each warning once.
	Logger zerolog.Logger
	Log    *redislog.Log
	Store  *storeredis.Job
	Client redis.UniversalClient
	// KeyPrefix stands before {job}: in the keys of records and chunks.
	KeyPrefix string

	stop func() // ends what watches the client; nil if nothing does yet
}

// Open connects and makes sure that a server answers. What is wrong with the server is logged, and is an error if
// Tidemark cannot work there.
func (f *Flags) Open(ctx context.Context, logger zerolog.Logger) (*Target, error) {
	job, err := events.ParseJobID(f.job)
	if err != nil {
		return nil, cli.Usagef("--job: %w", err)
	}
	opts, err := redisconn.Parse(f.redis)
	if err != nil {
		return nil, err
	}
	redislog.Tune(opts)
	redisconn.LogTo(logger)
	t := &Target{Job: job, Client: redis.NewUniversalClient(opts), KeyPrefix: f.prefix}
	if err := f.open(ctx, t, logger); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (f *Flags) open(ctx context.Context, t *Target, logger zerolog.Logger) (err error) {
	checkCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	findings, err := redisconn.Check(checkCtx, t.Client)
	switch {
	case errors.Is(err, redisconn.ErrRefused):
		return fmt.Errorf("redis at %s: %w; are user and password right? (--redis, TIDEMARK_REDIS or REDIS_URL)", redisconn.Redact(f.redis), err)
	case err != nil:
		return fmt.Errorf("reach redis at %s: %w; is it running, and is the address right? (--redis, TIDEMARK_REDIS or REDIS_URL)",
			redisconn.Redact(f.redis), err)
	}
	logger, t.stop = watch(ctx, t.Client, eventlog.KeysOf(t.Job).Tasks(), logger) // only now: the first contact fails in its own words
	t.Logger = logger
	for _, finding := range findings {
		if finding.Fatal {
			return fmt.Errorf("redis at %s: %s", redisconn.Redact(f.redis), finding.Text)
		}
		logger.Warn().Str("redis", redisconn.Redact(f.redis)).Msg(finding.Text)
	}
	t.Log, err = redislog.Open(redislog.Config{
		Job: t.Job, Client: t.Client, Embedded: f.embedded,
		OnRetry: func(err error, wait time.Duration) {
			logger.Warn().Err(err).Dur("again_in_ms", wait).Msg("publish to the log")
		},
	})
	if err != nil {
		return err
	}
	t.Store, err = storeredis.NewJob(t.Client, t.Job, storeredis.JobOptions{KeyPrefix: f.prefix})
	return err
}

// Close ends the connections.
func (t *Target) Close() error {
	if t.stop != nil {
		t.stop()
	}
	if err := t.Client.Close(); err != nil {
		return fmt.Errorf("close the connections to redis: %w", err)
	}
	return nil
}
