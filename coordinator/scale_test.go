package coordinator_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store/memory"
)

// many makes n tasks register and restore.
func (w *world) many(n int) []events.TaskID {
	w.t.Helper()
	list := make([]events.TaskID, n)
	for i := range list {
		list[i] = events.TaskID(fmt.Sprintf("task-%05d", i))
	}
	return list
}

func (w *world) up(list []events.TaskID) {
	w.t.Helper()
	for _, task := range list {
		w.publish(&events.TaskRegistered{Task: task, Instance: events.InstanceID(task)})
	}
	for _, task := range list {
		w.publish(&events.TaskRestored{Task: task, Attempt: 1, Checkpoint: events.NoCheckpoint})
	}
	w.eventually("all are restored", func() bool { return w.fold().Ready() })
}

func TestTenThousandTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("10 000 tasks")
	}
	w := newWorld(t)
	list := w.many(10_000)
	c := w.open(func(cfg *coordinator.Config) { expecting(list)(cfg); cfg.Retain = 3 })
	w.up(list)
	idle := runtime.NumGoroutine()
	most := idle
	ref := chunk(t, w.store, "shared")
	slowest := time.Duration(0)
	for range 3 {
		h := trigger(t, c, none)
		for i, task := range list {
			own := ref
			own.Name = "own"
			w.publish(&events.TaskAcked{
				Checkpoint: h.ID, Task: task, Attempt: 1, Epoch: 1, Handle: events.StateHandle{Chunks: []events.ChunkRef{own}},
			})
			if i%500 == 0 { // the loop answers while it folds
				began := time.Now()
				wantPending(t, c, 1)
				slowest = max(slowest, time.Since(began))
				most = max(most, runtime.NumGoroutine())
			}
		}
		wait(t, h)
		if n := len(wantRecord(t, c, h.ID, true).State); n != len(list) {
			t.Errorf("%d handles", n)
		}
	}
	if most > idle+20 {
		t.Errorf("%d goroutines, %d when idle", most, idle)
	}
	t.Logf("slowest answer of the loop: %s; %d goroutines", slowest, most)
}

// BenchmarkTurn is one event through the loop with n expected tasks: what does not depend on n stays flat.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			c, err := coordinator.Open(b.Context(), coordinator.Config{
				Store: memory.New(memory.Options{}), RequiredAcks: n, QueueLimit: 10,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			h, err := c.Trigger(b.Context(), coordinator.TriggerOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := c.Acknowledge(b.Context(), h.ID, "task-1", coordinator.Ack{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
