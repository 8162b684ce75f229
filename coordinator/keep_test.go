package coordinator_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

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
