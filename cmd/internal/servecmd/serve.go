package servecmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/store/memory"
)

// serve is the flags of the verb.
type serve struct {
	target  target.Flags
	logging cli.Logging
	tasks   string
	config  coordinator.Config
}

// Serve returns the verb.
func Serve() *cobra.Command {
	s := &serve{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the coordinator of a job",
		Long: `Run the coordinator of a job until SIGINT or SIGTERM. Several may run: one leads, the others stand by and take over when
its lease lapses. On a signal it takes no more triggers, waits for what is pending and gives the lease back; a second
signal ends it at once, which loses nothing.`,
		Example: `  coordinator serve --tasks 3 --interval 10s
  coordinator serve --job orders --tasks ingest,enrich,sink --redis rediss://user:password@redis.example:6380
  TIDEMARK_REDIS=redis+sentinel://s1:26379,s2:26379/mymaster coordinator serve --tasks 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.flags(cmd)
	return cmd
}

func (s *serve) flags(cmd *cobra.Command) {
	s.target.Add(cmd)
	s.logging.Flags(cmd)
	f, c := cmd.Flags(), &s.config
	f.StringVar(&s.tasks, "tasks", "", "the expected tasks: a number n for task-1 to task-n, or names with commas")
	f.IntVar(&c.RequiredAcks, "required-acks", 0, "instead of --tasks: how many distinct tasks must ack; nobody registers")
	f.DurationVar(&c.Interval, "interval", 0, "time between periodic checkpoints; 0 means by request only")
	f.DurationVar(&c.MinPause, "min-pause", 0, "least time between the end of a checkpoint and the next periodic one")
	f.DurationVar(&c.Timeout, "timeout", coordinator.DefaultTimeout, "how long a checkpoint may be pending; negative means for ever")
	f.IntVar(&c.MaxConcurrent, "max-concurrent", 1, "how many checkpoints may be pending at once; negative means any number")
	f.IntVar(&c.Retain, "retain", coordinator.DefaultRetain, "how many completed checkpoints are kept; 0 means all")
	f.BoolVar(&c.FallBack, "fall-back", false, "withdraw by itself a checkpoint that cannot be restored; without it a person does (withdraw)")
	f.IntVar(&c.QueueLimit, "queue-limit", coordinator.DefaultQueueLimit, "how many requests may wait")
	f.DurationVar(&c.LeaseTTL, "lease-ttl", coordinator.DefaultLeaseTTL, "how long the lease outlives its last renewal")
	f.DurationVar(&c.PresenceTTL, "presence-ttl", coordinator.DefaultPresenceTTL, "how long a task without a sign of life counts as alive")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", coordinator.DefaultDrainTimeout, "how long a shutdown waits for pending checkpoints")
	f.DurationVar(&c.StoreTimeout, "store-timeout", coordinator.DefaultStoreTimeout, "longest time of one access of the store")
	f.DurationVar(&c.ChunkGrace, "chunk-grace", coordinator.DefaultChunkGrace, "life of a state chunk that nothing refers to any more")
}

func (s *serve) run(cmd *cobra.Command) error {
	logger, err := s.logging.Logger(cmd)
	if err != nil {
		return err
	}
	cfg := s.config
	if (s.tasks == "") == (cfg.RequiredAcks == 0) {
		return cli.Usagef("one of --tasks and --required-acks is needed: which tasks must take part? (--tasks 3)")
	}
	if s.tasks != "" {
		if cfg.Tasks, err = tasks.Parse(s.tasks); err != nil {
			return cli.Usagef("--tasks: %w", err)
		}
	}
	if err := check(cfg); err != nil {
		return err
	}
	ctx := cmd.Context()
	t, err := s.target.Open(ctx, logger)
	if err != nil {
		return err
	}
	cfg.Job, cfg.Log, cfg.Store, cfg.Logger, cfg.Build = t.Job, t.Log, t.Store, t.Logger, cli.BuildVersion()
	c, err := coordinator.New(cfg)
	if err != nil {
		return errors.Join(cli.Usage(err), t.Close())
	}
	return errors.Join(c.Run(ctx), t.Close())
}

// check refuses impossible values before anything else is looked at.
func check(cfg coordinator.Config) error {
	cfg.Store = memory.New(memory.Options{})
	if _, err := coordinator.New(cfg); err != nil {
		return cli.Usage(err)
	}
	return nil
}
