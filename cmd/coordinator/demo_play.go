package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/projection"
)

// play starts the processes, does them harm, and returns when all workers have finished.
func (d *demo) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	told := newStory(d.screen, d.job.Job)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { cancel(told.watch(ctx, d.job.Log)) })
	watching.Go(func() { d.showProgress(ctx) })
	defer d.screen.done()

	if err := d.startAll(); err != nil {
		return err
	}
	acts := []struct {
		after int // completed checkpoints
		act   func(context.Context, *story) error
	}{
		{2, d.killWorker},
		{4, d.killCoordinator},
		{6, d.pauseWorker},
	}
	for _, a := range acts {
		if err := told.await(ctx, func() bool { return told.completed >= a.after }); err != nil {
			return err
		}
		if err := a.act(ctx, told); err != nil {
			return err
		}
	}
	if err := d.awaitWorkers(ctx); err != nil {
		return err
	}
	return told.await(ctx, func() bool { return told.finished == demoWorkers })
}

func (d *demo) startAll() error {
	if err := d.startCoordinator(); err != nil {
		return err
	}
	for i := range d.work {
		if err := d.startWorker(i); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) startCoordinator() (err error) {
	args := append([]string{"serve"}, d.args...)
	args = append(args, "--tasks", fmt.Sprint(demoWorkers), "--interval", demoInterval.String(),
		"--lease-ttl", demoLife.String(), "--presence-ttl", demoLife.String(), "--retain", "3", "--log-level", "debug")
	d.coord, err = startSelf(d.dir, "coordinator", args...)
	return err
}

func (d *demo) startWorker(i int) (err error) {
	args := append([]string{"demo-worker"}, d.args...)
	args = append(args, "--task", fmt.Sprintf("%d/%d", i+1, demoWorkers), "--input", d.input(), "--output", d.output(i),
		"--rate", fmt.Sprint(demoRate), "--presence-ttl", demoLife.String(), "--log-level", "debug")
	d.work[i], err = startSelf(d.dir, fmt.Sprintf("worker-%d", i+1), args...)
	return err
}

// killWorker kills a worker in the middle of its work and starts it again.
func (d *demo) killWorker(ctx context.Context, s *story) error {
	const i = 1
	d.screen.act("kill -9: worker %d (pid %d)", i+1, d.work[i].pid())
	d.work[i].kill()
	if err := d.startWorker(i); err != nil {
		return err
	}
	return s.await(ctx, func() bool { return s.attempts[workercmd.TaskID(i+1)] >= 2 })
}

// killCoordinator kills the coordinator and starts it again; the lease of the dead one has to lapse first.
func (d *demo) killCoordinator(ctx context.Context, s *story) error {
	d.screen.act("kill -9: the coordinator (pid %d); the workers go on", d.coord.pid())
	d.coord.kill()
	if err := d.startCoordinator(); err != nil {
		return err
	}
	return s.await(ctx, func() bool { return s.epoch >= 2 })
}

// pauseWorker stops a worker for longer than it may be silent, lets another one take its place, and wakes it.
func (d *demo) pauseWorker(ctx context.Context, s *story) error {
	const i = 2
	old, task := d.work[i], workercmd.TaskID(i+1)
	d.screen.act("kill -STOP: worker %d (pid %d) stands still and does not know it", i+1, old.pid())
	if err := old.pause(); err != nil {
		return fmt.Errorf("pause worker %d: %w", i+1, err)
	}
	if err := s.await(ctx, func() bool { return s.lost[task] }); err != nil {
		return errors.Join(err, old.resume())
	}
	d.screen.act("another process takes its place")
	if err := d.startWorker(i); err != nil {
		return errors.Join(err, old.resume())
	}
	if err := s.await(ctx, func() bool { return s.restored[task] >= 2 }); err != nil {
		return errors.Join(err, old.resume())
	}
	d.screen.act("kill -CONT: the old one wakes (pid %d)", old.pid())
	if err := old.resume(); err != nil {
		return fmt.Errorf("wake worker %d: %w", i+1, err)
	}
	select {
	case <-old.done:
		d.screen.event("the old worker 3 saw that it was replaced, and ended itself without another word")
		return nil
	case <-ctx.Done():
		old.kill()
		return context.Cause(ctx)
	}
}

// awaitWorkers returns when every worker has gone home with 0.
func (d *demo) awaitWorkers(ctx context.Context) error {
	for i, w := range d.work {
		select {
		case <-w.done:
			if w.err != nil {
				return fmt.Errorf("worker %d ended: %w", i+1, w.err)
			}
		case <-d.coord.done:
			return fmt.Errorf("the coordinator ended: %w", d.coord.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// showProgress draws how far each worker has come.
func (d *demo) showProgress(ctx context.Context) {
	tasks := make([]events.TaskID, demoWorkers)
	names := make([]string, demoWorkers)
	for i := range tasks {
		tasks[i], names[i] = workercmd.TaskID(i+1), workercmd.TaskID(i+1).String()
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	shares := make([]float64, demoWorkers)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		seen, err := d.job.Log.Presences(ctx, tasks)
		if err != nil {
			continue // it is only a picture
		}
		for i, task := range tasks {
			if p, ok := seen[task]; ok {
				shares[i] = max(shares[i], progressOf(p))
			}
		}
		d.screen.progress(names, shares)
	}
}

func progressOf(p eventlog.Presence) float64 {
	var progress struct {
		RecordsIn int64 `json:"records_in"`
	}
	if err := json.Unmarshal(p.Progress, &progress); err != nil {
		return 0
	}
	return min(float64(progress.RecordsIn)/flights.Lines, 1)
}

// story follows the log, tells what it says, and keeps what the acts wait for.
type story struct {
	screen *screen
	state  *projection.State

	mu        sync.Mutex
	changed   chan struct{} // closed and made anew at each change; guarded by mu, as all below
	completed int
	finished  int
	epoch     events.Epoch
	attempts  map[events.TaskID]events.Attempt
	restored  map[events.TaskID]int
	lost      map[events.TaskID]bool
}

func newStory(s *screen, job events.JobID) *story {
	return &story{
		screen: s, state: projection.New(job), changed: make(chan struct{}),
		attempts: make(map[events.TaskID]events.Attempt), restored: make(map[events.TaskID]int), lost: make(map[events.TaskID]bool),
	}
}

// await returns when cond holds; cond reads the story under its lock.
func (s *story) await(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *story) watch(ctx context.Context, log eventlog.Reader) error {
	for batch, err := range log.Follow(ctx, events.Start, eventlog.FollowOptions{}) {
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		apply(s.state, batch.Entries, s.tell)
	}
	return nil
}

func (s *story) tell(e eventlog.Entry, o projection.Outcome) {
	if !o.Changed() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event := e.Envelope.Event.(type) {
	case *events.CoordinatorStarted:
		s.epoch = event.Epoch
		s.screen.event("coordinator leads in epoch %s", event.Epoch)
	case *events.TaskRegistered:
		s.attempts[event.Task] = o.Attempt
		if o.Attempt > 1 {
			s.screen.event("%s: attempt %s goes on from checkpoint %s", event.Task, o.Attempt, o.Checkpoint)
		}
	case *events.TaskRestored:
		s.restored[event.Task]++
	case *events.TaskLost:
		s.lost[event.Task] = true
		s.screen.event("%s is lost: %s", event.Task, event.Text)
	case *events.TaskFinished:
		s.finished++
		s.screen.event("%s has finished; its end state is in checkpoint %s", event.Task, event.Checkpoint)
	}
	s.tellEnded()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *story) tellEnded() {
	for _, id := range s.state.Ended() {
		c, ok := s.state.Checkpoint(id)
		switch {
		case !ok:
		case c.Phase == projection.PhaseFailed:
			s.screen.event("checkpoint %s %s: %s", id, s.screen.p.Red("failed"), c.Reason)
		default:
			s.completed++
			s.screen.event("checkpoint %s %s  %d acks, %d bytes, %d ms", id, s.screen.p.Green("completed"), c.Acked, c.Bytes, max(c.EndedAt-c.TriggeredAt, 0))
		}
	}
}
