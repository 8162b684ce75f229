package coordinator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func expirePending(t *testing.T, c *coordinator.Coordinator, want int) {
	t.Helper()
	if n, err := c.ExpirePending(t.Context()); n != want || err != nil {
		t.Errorf("expired %d, %v, want %d", n, err, want)
	}
}

func TestTheDefaultTimeoutIsAMinuteAndNotAMomentLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newPlainWorld(t).open(nil)
		h := trigger(t, c, none)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantPending(t, c, 1)
		expirePending(t, c, 0)
		time.Sleep(20 * time.Millisecond) // the shortest wait of a read
		synctest.Wait()
		wantPending(t, c, 0)
		failed := failure(t, h, events.FailedExpired)
		if len(failed.Missing) != 0 { // by count nobody has a name
			t.Errorf("missing %v", failed.Missing)
		}
		wantRecord(t, c, h.ID, false)
	})
}

func TestAnAckInTimeCountsAndOneAfterIsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks, cfg.Timeout = 1, 30*time.Millisecond })
		h := trigger(t, c, none)
		time.Sleep(29 * time.Millisecond)
		if got := ack(t, c, h.ID, "task-1"); got != projection.Completing {
			t.Errorf("in time: %s", got)
		}
		wait(t, h)
		late := trigger(t, c, none)
		time.Sleep(80 * time.Millisecond)
		if got := ack(t, c, late.ID, "task-1"); got != projection.Late {
			t.Errorf("after: %s", got)
		}
		waitFailed(t, late, events.FailedExpired)
		wantRecord(t, c, late.ID, false)
		wantPending(t, c, 0)
		if n := w.faults.Calls(storetest.OpComplete); n != 1 {
			t.Errorf("%d completing writes", n)
		}
	})
}

func TestExpirePendingFailsWhatIsDueOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.Timeout = 20 * time.Millisecond })
		h := trigger(t, c, none)
		time.Sleep(20*time.Millisecond + time.Nanosecond) // it is due, and nobody has looked yet
		wantPending(t, c, 0)
		expirePending(t, c, 1)
		expirePending(t, c, 0)
		waitFailed(t, h, events.FailedExpired)
		if err := c.Complete(t.Context(), h.ID); err == nil {
			t.Error("an expired one was completed")
		}
		if n := w.faults.Calls(storetest.OpComplete); n != 0 {
			t.Errorf("%d completing writes", n)
		}
	})
}

func TestWithoutATimeoutNothingEverExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newPlainWorld(t).open(func(cfg *coordinator.Config) { cfg.RequiredAcks, cfg.Timeout = 1, coordinator.Never })
		h := trigger(t, c, none)
		time.Sleep(24 * time.Hour)
		wantPending(t, c, 1)
		expirePending(t, c, 0)
		ack(t, c, h.ID, "task-1")
		wait(t, h)
	})
}

// ticks are the times at which checkpoints were triggered, since the first one.
func ticks(w *world) []time.Duration {
	var at []time.Duration
	first := int64(0)
	for _, env := range w.events() {
		if _, ok := env.Event.(*events.CheckpointTriggered); !ok {
			continue
		}
		if len(at) == 0 {
			first = env.At
		}
		at = append(at, time.Duration(env.At-first)*time.Millisecond)
	}
	return at
}

func TestPeriodicTriggersKeepTheRhythm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		w.open(func(cfg *coordinator.Config) { cfg.Interval, cfg.MaxConcurrent = time.Second, -1 })
		time.Sleep(10*time.Second + 500*time.Millisecond)
		at := ticks(w)
		if len(at) < 10 || len(at) > 11 {
			t.Fatalf("%d triggers in 10.5 s", len(at))
		}
		for i, got := range at {
			if late := got - time.Duration(i)*time.Second; late < -10*time.Millisecond || late > 30*time.Millisecond {
				t.Errorf("trigger %d at %s", i, got)
			}
		}
	})
}

func TestTheFirstPeriodicTriggerIsBetweenMinPauseAndInterval(t *testing.T) {
	earliest, latest := time.Hour, time.Duration(0)
	for range 40 {
		bubble(t, func(t *testing.T) {
			w := newPlainWorld(t)
			began := time.Now()
			w.open(func(cfg *coordinator.Config) { cfg.Interval, cfg.MinPause = 100*time.Second, 60*time.Second })
			time.Sleep(110 * time.Second)
			for _, env := range w.events() {
				if _, ok := env.Event.(*events.CheckpointTriggered); ok {
					at := time.UnixMilli(env.At).Sub(began)
					earliest, latest = min(earliest, at), max(latest, at)
					break
				}
			}
		})
	}
	if earliest < 59*time.Second || latest > 101*time.Second || latest-earliest < 10*time.Second {
		t.Errorf("between %s and %s", earliest, latest)
	}
}

func TestMinPauseRunsFromTheEndOfTheLastOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) {
			cfg.RequiredAcks, cfg.Interval, cfg.MinPause, cfg.MaxConcurrent = 1, 12*time.Second, 50*time.Second, 1
		})
		time.Sleep(13 * time.Second)
		if n := len(ticks(w)); n != 1 {
			t.Fatalf("%d triggers", n)
		}
		ended := time.Now()
		ack(t, c, 0, "task-1")
		time.Sleep(49*time.Second + 900*time.Millisecond - time.Since(ended))
		if n := len(ticks(w)); n != 1 {
			t.Errorf("%d triggers before the pause was over", n)
		}
		time.Sleep(time.Second)
		if n := len(ticks(w)); n != 2 {
			t.Errorf("%d triggers after the pause", n)
		}
	})
}

func TestAPendingOneBlocksPeriodicTriggersAndMissedOnesAreNotMadeUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) {
			cfg.RequiredAcks, cfg.Interval, cfg.MaxConcurrent = 1, time.Second, 1
		})
		time.Sleep(10 * time.Second)
		wantPending(t, c, 1)
		ack(t, c, 0, "task-1")
		time.Sleep(50 * time.Millisecond)
		if n := len(ticks(w)); n != 2 { // one at once, no burst
			t.Errorf("%d triggers", n)
		}
		ack(t, c, 1, "task-1")
		time.Sleep(500 * time.Millisecond)
		if n := len(ticks(w)); n != 2 {
			t.Errorf("%d triggers within the interval", n)
		}
	})
}

func TestMaxConcurrentSlots(t *testing.T) {
	for _, most := range []int{1, 2, 5} {
		bubble(t, func(t *testing.T) {
			w := newPlainWorld(t)
			c := w.open(func(cfg *coordinator.Config) {
				cfg.RequiredAcks, cfg.Interval, cfg.MaxConcurrent, cfg.Timeout = 1, time.Second, most, coordinator.Never
			})
			time.Sleep(20 * time.Second)
			wantPending(t, c, most)
			ack(t, c, 0, "task-1") // one ends: one more
			time.Sleep(20 * time.Second)
			wantPending(t, c, most)
			if n := len(ticks(w)); n != most+1 {
				t.Errorf("max %d: %d triggers", most, n)
			}
		})
	}
}

func TestAStoreThatFailsCostsOnePeriodicTriggerEachInterval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		w.open(func(cfg *coordinator.Config) { cfg.Interval = time.Second })
		fault := w.faults.Add(storetest.Fault{Op: storetest.OpCreate, Times: -1})
		time.Sleep(10*time.Second + 100*time.Millisecond)
		if n := fault.Hits(); n < 9 || n > 11 {
			t.Errorf("%d attempts in 10 s", n)
		}
		fault.Remove()
		time.Sleep(time.Second)
		if n := len(ticks(w)); n != 1 {
			t.Errorf("%d triggers after the store came back", n)
		}
	})
}

// No step of a checkpoint waits for a timer: each is begun by the one before.
func TestCheckpointsTakeNoTimeButThatOfTheirIO(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(3)
		c := w.open(func(cfg *coordinator.Config) { expecting(list)(cfg); cfg.Retain = 1 })
		w.bringUp(list, "1")
		began := time.Now()
		for i := range 200 {
			h := trigger(t, c, none)
			w.ackSet(h.ID, list, func(task events.TaskID) string { return string(task) + h.ID.String() })
			if i%7 == 3 {
				if err := c.AbortAll(t.Context(), "for a change"); err != nil {
					t.Fatal(err)
				}
			}
			_ = h.Wait(t.Context())
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("200 checkpoints took %s", took)
		}
	})
}
