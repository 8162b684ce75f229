package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

var none coordinator.TriggerOptions

// plant stores a record as an earlier process left it.
func plant(t *testing.T, w *world, id events.CheckpointID, completed bool) {
	t.Helper()
	cp := store.New(id, int64(1000*id))
	cp.Completed = completed
	if err := w.store.Store(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
}

func TestThreeTriggersGetTheIDs012AndAreOpenEmptyAndPending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newPlainWorld(t).open(nil)
		for want := range events.CheckpointID(3) {
			h := trigger(t, c, none)
			if h.ID != want {
				t.Errorf("id %s, want %s", h.ID, want)
			}
			if cp := wantRecord(t, c, h.ID, false); len(cp.State) != 0 || cp.Version != store.CurrentSnapshotVersion {
				t.Errorf("fresh record is %v", cp)
			}
		}
		wantPending(t, c, 3)
	})
}

func TestNextIDIsAboveEveryRecordOfAnyKind(t *testing.T) {
	for name, completed := range map[string]bool{"a completed record": true, "an open record": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newPlainWorld(t)
				plant(t, w, 41, completed)
				plant(t, w, 5, true)
				if h := trigger(t, w.open(nil), none); h.ID != 42 {
					t.Errorf("id %s, want 42", h.ID)
				}
			})
		})
	}
}

func TestDistinctTasksComplete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = 3 })
		h := trigger(t, c, none)
		for _, step := range []struct {
			task events.TaskID
			want projection.OutcomeKind
		}{
			{"task-1", projection.Applied},
			{"task-1", projection.Duplicate},
			{"task-2", projection.Applied},
			{"task-1", projection.Duplicate},
			{"task-3", projection.Completing},
		} {
			if step.want == projection.Completing {
				wantRecord(t, c, h.ID, false)
			}
			if got := ack(t, c, h.ID, step.task); got != step.want {
				t.Errorf("ack of %s: %s, want %s", step.task, got, step.want)
			}
		}
		wait(t, h)
		wait(t, h) // again: the verdict stays
		wantRecord(t, c, h.ID, true)
		wantPending(t, c, 0)
		if got := ack(t, c, h.ID, "task-4"); got != projection.Late {
			t.Errorf("ack of a completed one: %s", got)
		}
		latest, err := c.Latest(t.Context())
		if err != nil || latest.ID != h.ID {
			t.Errorf("latest: %v, %v", latest, err)
		}
	})
}

func TestAnAckOfNothingIsVisibleAndTouchesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		if got := ack(t, c, 123, "task-1"); got != projection.UnknownCheckpoint {
			t.Errorf("ack of one never triggered: %s", got)
		}
		if n := w.faults.Calls(storetest.OpStore) + w.faults.Calls(storetest.OpComplete); n != 0 {
			t.Errorf("%d writes", n)
		}
		if h := trigger(t, c, none); h.ID < 124 { // an id that anybody named is not used any more
			t.Errorf("id %s", h.ID)
		}
	})
}

func TestCompleteByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = 3 })
		if err := c.Complete(t.Context(), 999); !errors.Is(err, coordinator.ErrNotPending) {
			t.Errorf("complete 999: %v", err)
		}
		h := trigger(t, c, none)
		ack(t, c, h.ID, "task-1")
		cp := wantRecord(t, c, h.ID, false)
		cp.State["left-by-a-task"] = int64(7)
		if err := w.store.Store(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		if err := c.Complete(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		wait(t, h)
		if got := wantRecord(t, c, h.ID, true).State["left-by-a-task"]; got != int64(7) {
			t.Errorf("state of the task is %v", got)
		}
		if err := c.Complete(t.Context(), h.ID); !errors.Is(err, coordinator.ErrNotPending) {
			t.Errorf("complete twice: %v", err)
		}
		if view, _ := w.fold().Checkpoint(h.ID); !view.Forced {
			t.Error("the log does not say that it was forced")
		}
	})
}

func TestCompleteByHandWhileItFinalizesCompletesOnceAndNotForced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpKeep, When: storetest.Hang})
		h := trigger(t, c, none)
		ackWith(t, w, c, h.ID, "task-1", "a")
		ackWith(t, w, c, h.ID, "task-2", "b")
		<-hang.Entered()
		done := make(chan error, 1)
		go func() { done <- c.Complete(t.Context(), h.ID) }()
		synctest.Wait()
		hang.Remove()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wait(t, h)
		if view, _ := w.fold().Checkpoint(h.ID); view.Forced || count[*events.CheckpointCompleted](w) != 1 {
			t.Errorf("forced %t, completed %d times", view.Forced, count[*events.CheckpointCompleted](w))
		}
	})
}

func TestCompleteByHandWaitsForADiscardThatIsUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpDelete, When: storetest.Hang})
		first := trigger(t, c, none)
		if _, err := c.Decline(t.Context(), first.ID, "task-1", 0, events.DeclinedUploadFailed, "disk full"); err != nil {
			t.Fatal(err)
		}
		<-hang.Entered()
		h := trigger(t, c, none)
		done := make(chan error, 1)
		go func() { done <- c.Complete(t.Context(), h.ID) }()
		synctest.Wait()
		hang.Remove()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantRecord(t, c, h.ID, true)
	})
}

func TestARecordThatCannotBeWrittenRefusesTheTriggerAndBurnsTheID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		for _, when := range []storetest.When{storetest.Before, storetest.After} {
			w.faults.Add(storetest.Fault{Op: storetest.OpCreate, When: when})
			_, err := c.Trigger(t.Context(), none)
			wantRefused(t, err, events.RefusedStoreFailed)
			wantPending(t, c, 0)
		}
		if h := trigger(t, c, none); h.ID != 2 {
			t.Errorf("id after two failures: %s, want 2", h.ID)
		}
	})
}

func TestAForeignRecordIsSteppedOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		trigger(t, c, none)
		plant(t, w, 1, true)
		plant(t, w, 2, false)
		if h := trigger(t, c, none); h.ID != 3 {
			t.Errorf("id %s, want 3", h.ID)
		}
	})
}

func TestTheCompletingWriteIsRepeatedUntilItSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		h := trigger(t, c, none)
		fault := w.faults.Add(storetest.Fault{Op: storetest.OpComplete, Times: 5})
		ack(t, c, h.ID, "task-1")
		ack(t, c, h.ID, "task-2")
		wait(t, h)
		if fault.Hits() != 5 {
			t.Errorf("%d hits", fault.Hits())
		}
		wantRecord(t, c, h.ID, true)
	})
}

func TestARecordThatVanishedOrWasDamagedIsWrittenAnewFromTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		h := trigger(t, c, none)
		epoch, instance, _ := w.mem.Token()
		fenced := w.store.(store.JobStore).Fenced(store.Fence{Epoch: epoch, Instance: instance})
		if ok, err := fenced.Delete(t.Context(), h.ID); !ok || err != nil {
			t.Fatal(ok, err)
		}
		ackWith(t, w, c, h.ID, "task-1", "a")
		ackWith(t, w, c, h.ID, "task-2", "b")
		wait(t, h)
		if cp := wantRecord(t, c, h.ID, true); len(cp.State) != 2 {
			t.Errorf("state: %v", cp.State)
		}
	})
}

func TestGetAndLatestTellNoneFromUnreadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		if _, err := c.Get(t.Context(), 7); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get of a missing one: %v", err)
		}
		if _, err := c.Latest(t.Context()); !errors.Is(err, store.ErrNone) {
			t.Errorf("latest of none: %v", err)
		}
		w.faults.Add(storetest.Fault{Op: storetest.OpLatest})
		if _, err := c.Latest(t.Context()); errors.Is(err, store.ErrNone) || !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("latest unreadable: %v", err)
		}
	})
}

func TestRestoreHandsOverOnlyWhatIsCompleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = 1 })
		seen := map[string]any{}
		sink := func(key string, value any) error { seen[key] = value; return nil }

		h := trigger(t, c, none)
		cp := wantRecord(t, c, h.ID, false)
		cp.State["counter"], cp.State["greeting"] = int64(42), "hello"
		if err := w.store.Store(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(string, any) error{sink, nil} {
			if n, err := c.Restore(t.Context(), 999, f); n != 0 || !errors.Is(err, store.ErrNotFound) {
				t.Errorf("restore of a missing one: %d, %v", n, err)
			}
			if n, err := c.Restore(t.Context(), h.ID, f); n != 0 || !errors.Is(err, coordinator.ErrNotCompleted) {
				t.Errorf("restore of an open one: %d, %v", n, err)
			}
		}
		if len(seen) != 0 {
			t.Errorf("sink was called: %v", seen)
		}
		ack(t, c, h.ID, "task-1")
		wait(t, h)
		if n, err := c.Restore(t.Context(), h.ID, nil); n != 2 || err != nil {
			t.Errorf("verify: %d, %v", n, err)
		}
		if n, err := c.Restore(t.Context(), h.ID, sink); n != 2 || err != nil {
			t.Errorf("restore: %d, %v", n, err)
		}
		if diff := cmp.Diff(map[string]any{"counter": int64(42), "greeting": "hello"}, seen); diff != "" {
			t.Error(diff)
		}
		stop := errors.New("enough")
		if n, err := c.Restore(t.Context(), h.ID, func(string, any) error { return stop }); n != 0 || !errors.Is(err, stop) {
			t.Errorf("sink that fails: %d, %v", n, err)
		}
	})
}

func TestASecondProcessSeesWhatTheFirstHasCompletedAndGoesOnAboveIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		first := w.open(nil)
		h := trigger(t, first, none)
		ack(t, first, h.ID, "task-1")
		second := w.open(func(cfg *coordinator.Config) { cfg.Log = nil }) // only the store is shared
		if _, err := second.Latest(t.Context()); !errors.Is(err, store.ErrNone) {
			t.Errorf("latest: %v", err)
		}
		wantRecord(t, second, h.ID, false)
		if got := ack(t, second, h.ID, "task-2"); got != projection.UnknownCheckpoint { // visible, and counts nowhere
			t.Errorf("ack at the wrong instance: %s", got)
		}
		wantRecord(t, second, h.ID, false)
		ack(t, first, h.ID, "task-2")
		wait(t, h)
		if latest, err := second.Latest(t.Context()); err != nil || latest.ID != h.ID {
			t.Errorf("latest: %v, %v", latest, err)
		}
		if next := trigger(t, second, none); next.ID <= 0 {
			t.Errorf("next id %s", next.ID)
		}
	})
}

func TestCleanupRemovesOpenOnesFirstAndNeverWhatIsPendingOrTheNewest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		plant(t, w, 0, false) // what a crashed process left
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = 1 })
		for range 5 {
			h := trigger(t, c, none)
			ack(t, c, h.ID, "task-1")
			wait(t, h)
		}
		pending := trigger(t, c, none)
		for _, step := range []struct{ keep, removed int }{{10, 0}, {6, 1}, {2, 4}, {0, 0}, {2, 0}} {
			if n, err := c.Cleanup(t.Context(), step.keep); n != step.removed || err != nil {
				t.Errorf("cleanup(%d): %d, %v, want %d", step.keep, n, err, step.removed)
			}
		}
		if _, err := c.Cleanup(t.Context(), -1); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("cleanup(-1): %v", err)
		}
		wantRecord(t, c, pending.ID, false)
		wantRecord(t, c, 5, true)
		synctest.Wait()
		if kept := w.fold().Completed(); len(kept) != 1 || kept[0].ID != 5 {
			t.Errorf("the fold keeps %v", kept)
		}
		w.faults.Add(storetest.Fault{Op: storetest.OpCleanup})
		if n, err := c.Cleanup(t.Context(), 1); n != 0 || !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("cleanup that fails: %d, %v", n, err)
		}
	})
}

func TestCleanupLeavesAReservedIDAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpCleanup, When: storetest.Hang})
		removed := make(chan int, 1)
		go func() {
			n, _ := c.Cleanup(t.Context(), 0)
			removed <- n
		}()
		<-hang.Entered() // what it protects is decided
		h := trigger(t, c, none)
		hang.Remove()
		if n := <-removed; n != 0 {
			t.Errorf("%d removed", n)
		}
		wantRecord(t, c, h.ID, false)
	})
}

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

func TestManyTriggersAtOnceGetDistinctIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newPlainWorld(t).open(nil)
		var group sync.WaitGroup
		ids := make(chan events.CheckpointID, 200) // one place each
		for range cap(ids) {
			group.Go(func() {
				if h, err := c.Trigger(t.Context(), none); err == nil {
					ids <- h.ID
				}
			})
		}
		group.Wait()
		close(ids)
		seen := map[events.CheckpointID]bool{}
		for id := range ids {
			seen[id] = true
		}
		if len(seen) != 200 {
			t.Errorf("%d distinct ids", len(seen))
		}
		wantPending(t, c, 200)
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
