package coordinator_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

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
