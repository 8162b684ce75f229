package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/tasks"
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

	if err := d.startAll(ctx, told); err != nil {
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
	return told.await(ctx, func() bool { return len(told.finished) == demoWorkers })
}

func (d *demo) startAll(ctx context.Context, s *story) error {
	if err := d.startCoordinator(); err != nil {
		return err
	}
	for i := range d.work {
		if err := d.startWorker(ctx, s, i); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) startCoordinator() (err error) {
	d.coord, err = d.startSelf("coordinator", d.died, "serve", "--tasks", fmt.Sprint(demoWorkers), "--interval", demoInterval.String(),
		"--lease-ttl", demoLease.String(), "--presence-ttl", demoLife.String(), "--retain", "3", "--log-level", "debug")
	return err
}

func (d *demo) startWorker(ctx context.Context, s *story, i int) (err error) {
	died := func(err error) {
		if errors.Unwrap(err) != nil || !s.hasFinished(ctx, tasks.ID(i+1)) {
			d.died(err)
		}
	}
	d.work[i], err = d.startSelf(fmt.Sprintf("worker-%d", i+1), died, "demo-worker", "run",
		"--task", fmt.Sprintf("%d/%d", i+1, demoWorkers), "--input", d.input(), "--output", d.output(i),
		"--rate", fmt.Sprint(demoRate), "--presence-ttl", demoLife.String(), "--log-level", "debug")
	return err
}

// killWorker kills a worker in the middle of its work and starts it again.
func (d *demo) killWorker(ctx context.Context, s *story) error {
	const i = 1
	d.screen.act("kill -9: worker %d (pid %d)", i+1, d.work[i].pid())
	d.work[i].kill()
	if err := d.startWorker(ctx, s, i); err != nil {
		return err
	}
	return s.await(ctx, func() bool { return s.attempts[tasks.ID(i+1)] >= 2 })
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
	old, task := d.work[i], tasks.ID(i+1)
	d.screen.act("kill -STOP: worker %d (pid %d) stands still and does not know it", i+1, old.pid())
	old.mayEnd.Store(true) // it will see that it was replaced
	if err := old.pause(); err != nil {
		return fmt.Errorf("pause worker %d: %w", i+1, err)
	}
	defer old.kill() // it may still stand; if all went well it has ended
	if err := s.await(ctx, func() bool { return s.lost[task] }); err != nil {
		return err
	}
	d.screen.act("another process takes its place")
	if err := d.startWorker(ctx, s, i); err != nil {
		return err
	}
	if err := s.await(ctx, func() bool { return s.restored[task] >= 2 }); err != nil {
		return err
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
		return context.Cause(ctx)
	}
}

// awaitWorkers returns when every worker has gone home with 0.
func (d *demo) awaitWorkers(ctx context.Context) error {
	for i, w := range d.work {
		select {
		case <-w.done:
			if w.err != nil {
				return diedError{fmt.Sprintf("worker-%d", i+1), w.err}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// showProgress draws how far each worker has come.
func (d *demo) showProgress(ctx context.Context) {
	all := make([]events.TaskID, demoWorkers)
	names := make([]string, demoWorkers)
	for i := range all {
		all[i], names[i] = tasks.ID(i+1), tasks.ID(i+1).String()
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
		seen, err := d.job.Log.Presences(ctx, all)
		if err != nil {
			continue // it is only a picture
		}
		for i, task := range all {
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
