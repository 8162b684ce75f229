package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// Coordinator coordinates the checkpoints of one job. Make it with [New] and call Run, or, as a library, with [Open].
// All methods are safe for concurrent use.
type Coordinator struct {
	cfg  Config
	loop *loop

	stop     chan struct{} // closed by the first shutdown; nobody sends
	stopOnce sync.Once
	hurry    chan struct{} // closed by Close: the shutdown waits for nothing; nobody sends
	hurryUp  sync.Once
	done     chan struct{} // closed when Run has returned; nobody sends
	leading  chan struct{} // closed by the loop when this coordinator leads for the first time
	ran      atomic.Bool   // Run was called, or Close instead
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Coordinator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{
		cfg: cfg, loop: newLoop(cfg),
		stop: make(chan struct{}), hurry: make(chan struct{}), done: make(chan struct{}), leading: make(chan struct{}),
	}
	c.loop.leading = c.leading
	return c, nil
}

// Open is New and Run in the background; it returns when the coordinator leads. ctx bounds the opening alone. Close ends it.
func Open(ctx context.Context, cfg Config) (*Coordinator, error) {
	c, err := New(cfg)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1) // sent once by the goroutine below; one place, so that it never waits
	go func() { failed <- c.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-c.leading:
		return c, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), c.Close())
	}
}

// Run campaigns for the lease and coordinates while it holds it, until ctx ends; then it drains: it takes no more
// triggers, waits up to DrainTimeout for what is pending, fails the rest by name, saves the fold and gives the lease
// back. It returns nil after an orderly shutdown, and when everything that it started has ended. Call it once.
func (c *Coordinator) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return fmt.Errorf("run the coordinator of job %s: %w: Run may be called once", c.cfg.Job, ErrClosed)
	}
	defer close(c.done)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopWatch := context.AfterFunc(ctx, c.requestStop)
	defer stopWatch()

	after, err := c.loop.load(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	leaseCtx, endLease := context.WithCancel(inner)
	var background sync.WaitGroup
	readErr := make(chan error, 1) // sent once by the reader; one place, so that it never waits
	background.Go(func() { readErr <- c.loop.read(inner, after) })
	background.Go(func() { c.loop.keepLease(leaseCtx) })

	c.loop.log.Info().Stringer("from", after).Dur("interval_ms", c.cfg.Interval).Msg(c.startWords())
	err = c.loop.run(inner, c.stop, c.hurry)
	endLease()
	err = errors.Join(err, c.loop.leave(inner))
	cancel()
	background.Wait()
	return errors.Join(err, <-readErr)
}

func (c *Coordinator) startWords() string {
	if c.cfg.Interval == 0 {
		return "coordinator started; no interval, so checkpoints are triggered by request only"
	}
	return "coordinator started"
}

func (c *Coordinator) requestStop() { c.stopOnce.Do(func() { close(c.stop) }) }

// Close ends the coordinator at once, also one that drains: what is pending fails as shutdown, waiting verbs end. It returns
// when everything has ended. Log and Store stay open: they were handed in. Closing twice is harmless.
func (c *Coordinator) Close() error {
	c.hurryUp.Do(func() { close(c.hurry) })
	if c.ran.Swap(true) {
		<-c.done
		return nil
	}
	close(c.done)
	return nil
}

// load reads the saved fold and returns the position to follow the log from.
func (l *loop) load(ctx context.Context) (events.Position, error) {
	at, saved, ok, err := l.savedFold(ctx)
	if err != nil {
		return events.Start, fmt.Errorf("load the saved fold of job %s: %w", l.cfg.Job, err)
	}
	if !ok {
		return events.Start, nil
	}
	state := projection.New(l.cfg.Job)
	if err := state.UnmarshalBinary(saved); err != nil {
		l.log.Warn().Err(err).Msg("saved fold cannot be used; folding the whole log")
		return events.Start, nil
	}
	if state.Position() != at {
		l.log.Warn().Stringer("saved", at).Stringer("state", state.Position()).Msg("saved fold is inconsistent; folding the whole log")
		return events.Start, nil
	}
	l.state = state
	return at, nil
}

// loadPatience is how long a start waits for a saved fold that cannot be read: a server that has just been started again
// answers LOADING for a while.
const loadPatience = time.Minute

// savedFold reads what the last coordinator has stored, again and again while that fails.
func (l *loop) savedFold(ctx context.Context) (at events.Position, saved []byte, ok bool, err error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		at, saved, ok, err = l.cfg.Log.LoadFold(ctx)
		if err == nil || l.clock() > loadPatience {
			return at, saved, ok, err
		}
		l.log.Warn().Err(err).Dur("again_in_ms", wait).Msg("load the saved fold")
		if !sleep(ctx, wait) {
			return at, nil, false, context.Cause(ctx)
		}
	}
}

// leave is the last thing of a shutdown: save the fold, give the lease back.
func (l *loop) leave(ctx context.Context) error {
	defer l.finish()
	r := l.reign
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, drainGrace)
	defer cancel()
	if r.started {
		l.saveLast(ctx, r)
	}
	if err := r.term.Resign(ctx); err != nil && !errors.Is(err, eventlog.ErrFenced) {
		return fmt.Errorf("resign the lease of job %s: %w", l.cfg.Job, err)
	}
	l.log.Info().Int64("epoch", int64(r.term.Epoch())).Msg("lease given back")
	return nil
}

// finish ends what the loop has started and answers who still waits.
func (l *loop) finish() {
	l.endReign(ErrClosed)
	for id := range l.waiters.checkpoints {
		l.waiters.ended(id, fmt.Errorf("no verdict yet on checkpoint %s: %w", id, ErrClosed))
	}
	ended := make(chan struct{})
	go func() { l.effects.Wait(); close(ended) }()
	for {
		select {
		case <-l.results: // an effect that ends has nobody left to tell
		case <-ended:
			return
		}
	}
}
