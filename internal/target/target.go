package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/redisconn"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// DefaultRedis is the address without any setting: a Redis on this machine.
const DefaultRedis = "redis://127.0.0.1:6379"

// connectTimeout bounds the first contact, so that a wrong address is told soon.
const connectTimeout = 5 * time.Second

// Config says which job on which Redis.
type Config struct {
	Job events.JobID
	// Redis is an address, as package redisconn reads it. Empty means [DefaultRedis].
	Redis string
	// Client takes the place of Redis. It is the caller's: neither watched nor closed.
	Client redis.UniversalClient
	// KeyPrefix stands before {job}: in the keys of records and chunks. Empty means the store's default.
	KeyPrefix string
	// Embedded says that the server is miniredis.
	Embedded bool
	// From ends the errors that ask whether the address is right: where it comes from.
	From string
}

// server names the server in errors and log lines, without a password.
func (c Config) server() string {
	if c.Client != nil {
		return "redis"
	}
	return "redis at " + redisconn.Redact(c.Redis)
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

	shared bool   // the client is the caller's
	stop   func() // ends what watches the client; nil if nothing does yet
}

// Open connects and makes sure that a server answers. What is wrong with the server is logged, and is an error if
// Tidemark cannot work there.
func Open(ctx context.Context, cfg Config, logger zerolog.Logger) (*Target, error) {
	t := &Target{Job: cfg.Job, Logger: logger, Client: cfg.Client, KeyPrefix: cfg.KeyPrefix, shared: cfg.Client != nil}
	if !t.shared {
		if cfg.Redis == "" {
			cfg.Redis = DefaultRedis
		}
		opts, err := redisconn.Parse(cfg.Redis)
		if err != nil {
			return nil, err
		}
		redislog.Tune(opts)
		t.Client = redis.NewUniversalClient(opts)
	}
	if err := t.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Target) open(ctx context.Context, cfg Config) (err error) {
	checkCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	findings, err := redisconn.Check(checkCtx, t.Client)
	switch {
	case errors.Is(err, redisconn.ErrRefused):
		return fmt.Errorf("%s: %w; are user and password right?%s", cfg.server(), err, cfg.From)
	case err != nil:
		return fmt.Errorf("reach %s: %w; is it running, and is the address right?%s", cfg.server(), err, cfg.From)
	}
	if !t.shared { // only now: the first contact fails in its own words
		t.Logger, t.stop = watch(ctx, t.Client, eventlog.KeysOf(t.Job).Tasks(), t.Logger)
	}
	for _, finding := range findings {
		if finding.Fatal {
			return fmt.Errorf("%s: %s", cfg.server(), finding.Text)
		}
		t.Logger.Warn().Str("redis", redisconn.Redact(cfg.Redis)).Msg(finding.Text)
	}
	t.Log, err = redislog.Open(redislog.Config{
		Job: t.Job, Client: t.Client, Embedded: cfg.Embedded,
		OnRetry: func(err error, wait time.Duration) {
			t.Logger.Warn().Err(err).Dur("again_in_ms", wait).Msg("publish to the log")
		},
	})
	if err != nil {
		return err
	}
	t.Store, err = storeredis.NewJob(t.Client, t.Job, storeredis.JobOptions{KeyPrefix: cfg.KeyPrefix})
	return err
}

// Close ends the connections, but for those of the caller's client.
func (t *Target) Close() error {
	if t.stop != nil {
		t.stop()
	}
	if t.shared {
		return nil
	}
	if err := t.Client.Close(); err != nil {
		return fmt.Errorf("close the connections to redis: %w", err)
	}
	return nil
}
