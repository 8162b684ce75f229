package worker_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/worker"
)

var errKilled = errors.New("killed")

// process stands for one process on a real Redis: what it runs, and the only way by which it can reach others. To kill it
// cuts that way, in the middle of whatever is being said, before anything in it learns that it ends.
type process struct {
	log    *redislog.Log
	store  *storeredis.Job
	ctx    context.Context //nolint:containedctx // of the whole process
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error

	mu    sync.Mutex
	dead  bool              // guarded by mu, as below
	conns map[net.Conn]bool // open ones
}

func newProcess(t *testing.T, addr string, job events.JobID) *process {
	t.Helper()
	p := &process{done: make(chan struct{}), conns: map[net.Conn]bool{}}
	o := &goredis.UniversalOptions{Addrs: []string{addr}, Dialer: p.dial, PoolSize: 8, DialTimeout: time.Second}
	redislog.Tune(o)
	client := goredis.NewUniversalClient(o)
	var err error
	if p.log, err = redislog.Open(redislog.Config{Job: job, Client: client}); err != nil {
		t.Fatal(err)
	}
	if p.store, err = storeredis.NewJob(client, job, storeredis.JobOptions{}); err != nil {
		t.Fatal(err)
	}
	p.ctx, p.cancel = context.WithCancelCause(t.Context())
	t.Cleanup(func() {
		p.cancel(errShutdown)
		<-p.done
		_ = client.Close()
	})
	return p
}

func (p *process) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		_ = c.Close()
		return nil, errKilled
	}
	p.conns[c] = true
	return c, nil
}

// kill ends the process without a last word.
func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.cancel(errKilled)
}

// disconnect closes all connections once.
func (p *process) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// run runs f in the process.
func (p *process) run(f func(ctx context.Context) error) *process {
	go func() {
		defer close(p.done)
		p.err = f(p.ctx)
	}()
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// work runs a worker in a process of its own.
func work(t *testing.T, addr string, job events.JobID, cfg worker.Config) *process {
	t.Helper()
	p := newProcess(t, addr, job)
	cfg.Log, cfg.Store = p.log, p.store
	w, err := worker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(p.ctx, func() {
		if errors.Is(context.Cause(p.ctx), errKilled) {
			w.Hurry()
		}
	})
	return p.run(func(ctx context.Context) error {
		for {
			err := w.Run(ctx)
			if !errors.Is(err, worker.ErrSuperseded) || ctx.Err() != nil {
				return err
			}
			// The registration of a process that died in it can arrive after ours. A supervisor starts this one again.
			cfg.Logger.Error().Err(err).Msg("ended, and is started again")
		}
	})
}

// coordinate runs a coordinator in a process of its own.
func coordinate(t *testing.T, addr string, job events.JobID, cfg coordinator.Config) *process {
	t.Helper()
	p := newProcess(t, addr, job)
	cfg.Job, cfg.Log, cfg.Store = job, p.log, p.store
	return p.run(func(ctx context.Context) error {
		for {
			c, err := coordinator.New(cfg)
			if err != nil {
				return err
			}
			stop := context.AfterFunc(ctx, func() {
				if errors.Is(context.Cause(ctx), errKilled) {
					_ = c.Close()
				}
			})
			err = c.Run(ctx)
			stop()
			if err == nil || ctx.Err() != nil {
				return err
			}
			cfg.Logger.Error().Err(err).Msg("ended, and is started again") // as a supervisor would
		}
	})
}

func startRedis(t *testing.T, args ...string) *testredis.Server {
	t.Helper()
	return testredis.Start(t, args...)
}
