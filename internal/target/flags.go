package target

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/redisconn"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// DefaultJob is the job without any setting, that of the demo and of docker-compose.yml.
const DefaultJob = "flights"

// Flags are --redis, --job and --key-prefix.
type Flags struct {
	redis, job, prefix string
	embedded           bool
}

// Add adds them to a command. The flag --job has the default [DefaultJob].
func (f *Flags) Add(cmd *cobra.Command) { f.AddFor(cmd, DefaultJob) }

// AddFor is [Flags.Add] with another default for --job.
func (f *Flags) AddFor(cmd *cobra.Command, job string) {
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", DefaultRedis, "address of Redis: redis://, rediss://, redis+sentinel:// or redis+cluster://; also from REDIS_URL")
	flags.StringVar(&f.job, "job", job, "name of the job")
	flags.StringVar(&f.prefix, "key-prefix", storeredis.DefaultJobKeyPrefix, "what stands before {job}: in the keys of records and chunks")
	flags.BoolVar(&f.embedded, "embedded-redis", false, "the server is the demo's embedded one: poll instead of block")
	if err := flags.MarkHidden("embedded-redis"); err != nil {
		panic(err) // the flag was added the line before
	}
}

// JobID is what --job says.
func (f *Flags) JobID() (events.JobID, error) {
	job, err := events.ParseJobID(f.job)
	if err != nil {
		return "", cli.Usagef("--job: %w", err)
	}
	return job, nil
}

// Open is [Open] of what the flags say. What go-redis has to say of its own goes to the logger from then on.
func (f *Flags) Open(ctx context.Context, logger zerolog.Logger) (*Target, error) {
	job, err := f.JobID()
	if err != nil {
		return nil, err
	}
	redisconn.LogTo(logger)
	return Open(ctx, Config{
		Job: job, Redis: f.redis, KeyPrefix: f.prefix, Embedded: f.embedded, From: " (--redis, TIDEMARK_REDIS or REDIS_URL)",
	}, logger)
}
