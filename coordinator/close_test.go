package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func TestCloseFailsWhatIsPendingAndEndsEveryVerb(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.MaxConcurrent = 2 })
		handles := []*coordinator.Handle{trigger(t, c, none), trigger(t, c, none)}
		queued := make(chan error, 1)
		go func() {
			_, err := c.Trigger(t.Context(), none)
			queued <- err
		}()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		for _, h := range handles {
			waitFailed(t, h, events.FailedShutdown)
		}
		wantRefused(t, <-queued, events.RefusedShuttingDown)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for name, call := range verbs(c) {
			if err := call(t.Context()); !errors.Is(err, coordinator.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		if _, err := w.store.HighestID(t.Context()); err != nil {
			t.Errorf("the store was closed: %v", err)
		}
	})
}

// verbs are those that need the loop.
func verbs(c *coordinator.Coordinator) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"trigger": func(ctx context.Context) error { _, err := c.Trigger(ctx, none); return err },
		"ack":     func(ctx context.Context) error { _, err := c.Acknowledge(ctx, 1, "a", coordinator.Ack{}); return err },
		"decline": func(ctx context.Context) error {
			_, err := c.Decline(ctx, 1, "a", 0, events.DeclinedCutFailed, "")
			return err
		},
		"complete": func(ctx context.Context) error { return c.Complete(ctx, 1) },
		"cleanup":  func(ctx context.Context) error { _, err := c.Cleanup(ctx, 1); return err },
		"abort":    func(ctx context.Context) error { return c.AbortAll(ctx, "x") },
		"pending":  func(ctx context.Context) error { _, err := c.Pending(ctx); return err },
		"expire":   func(ctx context.Context) error { _, err := c.ExpirePending(ctx); return err },
	}
}

func TestACoordinatorThatNeverRanCanBeClosedAndNotRunAfter(t *testing.T) {
	w := newPlainWorld(t)
	c, err := coordinator.New(w.config(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); !errors.Is(err, coordinator.ErrClosed) {
		t.Errorf("run after close: %v", err)
	}
	for name, call := range verbs(c) {
		if err := call(t.Context()); !errors.Is(err, coordinator.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNobodyTriggersByItselfWithoutAnInterval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		w.open(nil)
		time.Sleep(time.Hour)
		if n := w.faults.Calls(storetest.OpCreate); n != 0 {
			t.Errorf("%d checkpoints", n)
		}
		if len(w.lines.with("no interval")) != 1 {
			t.Error("the log does not say that there is no interval")
		}
	})
}

func TestConfigsThatCannotWork(t *testing.T) {
	w := newPlainWorld(t)
	for name, change := range map[string]func(*coordinator.Config){
		"Store is missing":                 func(c *coordinator.Config) { c.Store = nil },
		"exactly one of Tasks and":         func(c *coordinator.Config) { c.RequiredAcks = 0 },
		"exactly one of Tasks and Require": func(c *coordinator.Config) { c.RequiredAcks = -1 },
		"job":                              func(c *coordinator.Config) { c.Job = "a b" },
		"task a stands twice":              func(c *coordinator.Config) { c.Tasks = []events.TaskID{"a", "a"} },
		"task":                             func(c *coordinator.Config) { c.Tasks = []events.TaskID{"a b"} },
		"an Interval of 1ms is below":      func(c *coordinator.Config) { c.Interval = time.Millisecond },
		"Interval -1s is below":            func(c *coordinator.Config) { c.Interval = -time.Second },
		"LeaseTTL":                         func(c *coordinator.Config) { c.LeaseTTL = time.Millisecond },
		"PresenceTTL":                      func(c *coordinator.Config) { c.PresenceTTL = -1 },
		"queue_limit":                      func(c *coordinator.Config) { c.QueueLimit = -1 },
		"a ChunkGrace of 1h0m0s must":      func(c *coordinator.Config) { c.Timeout = 2 * time.Hour },
	} {
		if _, err := coordinator.New(w.config(change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
