package job

import (
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/worker"
)

// Run works on one share of a job until its input has ended and a completed checkpoint holds the end state, or until ctx ends: it
// then stops between two records and waits up to DrainTimeout for a cut that is being stored. Either way it returns nil, and at once
// if an earlier run of the share has come to that end, unless the configuration says Fresh. A Redis
// that cannot be reached within five seconds at the start is an error; later it is waited for. Further errors: [ErrUsage],
// [worker.ErrSuperseded], [worker.ErrRestore], [worker.ErrShare], those of the job's functions and of its graph.
//
// It handles no signals and changes nothing global. It may be called from any goroutine, also for several shares at once.
func Run(ctx context.Context, cfg Config) error { return run(ctx, cfg, cfg.connect) }

// connection is a job's log and store, with the logger that knows of their outages.
type connection struct {
	log    eventlog.Job
	store  store.JobStore
	logger zerolog.Logger
	close  func() error
}

// connect opens what the configuration names.
func (c Config) connect(ctx context.Context, s Share) (connection, error) {
	if c.Log != nil {
		return connection{c.Log, c.Store, c.Logger, func() error { return nil }}, nil
	}
	t, err := target.Open(ctx, target.Config{Job: s.Job, Redis: c.Redis, Client: c.Client, KeyPrefix: c.KeyPrefix}, c.Logger)
	if err != nil {
		return connection{}, err
	}
	return connected(t), nil
}

func connected(t *target.Target) connection { return connection{t.Log, t.Store, t.Logger, t.Close} }

// run is Run with a connection that somebody else makes.
func run(ctx context.Context, cfg Config, connect func(context.Context, Share) (connection, error)) (err error) {
	s, err := cfg.share()
	if err != nil {
		return err
	}
	closer, err := cfg.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()
	c, err := connect(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, cfg, s, c), c.close())
}

// work runs the task and says now and then how far it has come.
func work(ctx context.Context, cfg Config, s Share, c connection) error {
	said := &progress{every: cfg.ProgressInterval, log: c.logger.With().Stringer("job", s.Job).Stringer("task", s.Task).Logger()}
	wc := cfg.worker(s)
	wc.Log, wc.Store, wc.Logger = c.log, restoring{c.store, s.Task, said}, c.logger
	wc.Build = func(start worker.Start) (worker.Pipeline, error) {
		pipeline, err := cfg.build(Share(start))
		if err != nil {
			return nil, err
		}
		var p worker.Pipeline = starting{pipeline, Share(start), cfg.Job.Started}
		said.pipeline.Store(&p)
		return p, nil
	}
	w, err := worker.New(wc)
	if err != nil {
		return Usagef("job %s: %w", s.Job, err)
	}
	var saying sync.WaitGroup
	defer saying.Wait()
	sayCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	saying.Go(func() { said.run(sayCtx) })
	return w.Run(ctx)
}
