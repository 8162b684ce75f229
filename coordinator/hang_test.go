package coordinator_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

// With a store in which every call hangs for ever, everything that needs none goes on.
func TestAStoreThatHangsHoldsUpOnlyWhatNeedsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.StoreTimeout = 1000 * time.Hour })
		ready, declined, expiring := trigger(t, c, none), trigger(t, c, none), trigger(t, c, none)
		hang := w.faults.Add(storetest.Fault{When: storetest.Hang, Times: -1})
		epoch, _, _ := w.mem.Token()
		handle := events.StateHandle{Chunks: []events.ChunkRef{{Name: "a", Digest: events.Digest(digestOf(t, "lost"))}}}
		for _, task := range []events.TaskID{"task-1", "task-2"} {
			w.publish(&events.TaskAcked{Checkpoint: ready.ID, Task: task, Epoch: epoch, Handle: handle})
		}
		<-hang.Entered() // the proof of the first one
		for range 20 {   // more calls than there are lanes
			go func() { _, _ = c.Cleanup(t.Context(), 3) }()
		}
		if got := ack(t, c, expiring.ID, "task-1"); got != projection.Applied {
			t.Errorf("ack: %s", got)
		}
		if _, err := c.Decline(t.Context(), declined.ID, "task-1", 0, events.DeclinedOther, "no"); err != nil {
			t.Fatal(err)
		}
		waitFailed(t, declined, events.FailedDeclined)
		wantPending(t, c, 1)
		time.Sleep(time.Minute + time.Second)
		waitFailed(t, expiring, events.FailedExpired)
		wantPending(t, c, 0)
		_, err := c.Trigger(timeout(t, time.Minute), none)
		if err == nil {
			t.Error("a trigger needs the store")
		}
		hang.Remove()
		waitFailed(t, ready, events.FailedStateMissing)
		again := trigger(t, c, none)
		ackWith(t, w, c, again.ID, "task-1", "a")
		ackWith(t, w, c, again.ID, "task-2", "b")
		wait(t, again)
	})
}

func TestWhatHangsInTheStoreCompletesWhenItComesBack(t *testing.T) {
	for _, op := range []storetest.Op{storetest.OpHighestID, storetest.OpCreate, storetest.OpKeep, storetest.OpComplete} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				hang := w.faults.Add(storetest.Fault{Op: op, When: storetest.Hang})
				c := w.open(nil)
				done := make(chan error, 1)
				go func() {
					h, err := c.Trigger(t.Context(), none)
					if err == nil {
						ackWith(t, w, c, h.ID, "task-1", "a")
						ackWith(t, w, c, h.ID, "task-2", "b")
						err = h.Wait(t.Context())
					}
					done <- err
				}()
				<-hang.Entered()
				time.Sleep(10 * time.Second)
				hang.Remove()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAHangingCallEndsAtTheStoreTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		w.faults.Add(storetest.Fault{Op: storetest.OpCreate, When: storetest.Hang})
		began := time.Now()
		_, err := c.Trigger(t.Context(), none)
		wantRefused(t, err, events.RefusedStoreFailed)
		if took := time.Since(began); took < coordinator.DefaultStoreTimeout || took > coordinator.DefaultStoreTimeout+time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestNoTriggerUntilTheStoreHasBeenRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		plant(t, w, 41, true)
		fault := w.faults.Add(storetest.Fault{Op: storetest.OpHighestID, Times: -1})
		c := w.open(nil)
		for range 3 {
			_, err := c.Trigger(t.Context(), none)
			wantRefused(t, err, events.RefusedUnverified)
			time.Sleep(time.Second)
		}
		if n := w.faults.Calls(storetest.OpCreate); n != 0 {
			t.Errorf("%d records were created", n)
		}
		fault.Remove()
		time.Sleep(20 * time.Second)
		if h := trigger(t, c, none); h.ID != 42 {
			t.Errorf("id %s, want 42", h.ID)
		}
		reads := w.faults.Calls(storetest.OpHighestID)
		trigger(t, c, none)
		if again := w.faults.Calls(storetest.OpHighestID); again != reads {
			t.Error("the seed was read again")
		}
	})
}

func TestTheSeedOnlyMovesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		first, stop := w.run(nil)
		time.Sleep(time.Second)
		for range 50 {
			trigger(t, first, none)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		w.store = memoryWith(t, 41) // another store that knows less than the log
		if h := trigger(t, w.open(nil), none); h.ID != 50 {
			t.Errorf("id %s, want 50", h.ID)
		}
	})
}

func TestAStoreThatAnswersWithErrorsFailsTheCheckpointInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		h := trigger(t, c, none)
		w.faults.Add(storetest.Fault{Op: storetest.OpKeep, Times: -1})
		ackWith(t, w, c, h.ID, "task-1", "a")
		ackWith(t, w, c, h.ID, "task-2", "b")
		began := time.Now()
		waitFailed(t, h, events.FailedFinalize)
		if took := time.Since(began); took < 20*time.Second || took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestHandlesThatDoNotFitIntoARecordFailTheCheckpoint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks, cfg.MaxRecord = 1, 100_000 })
		h := trigger(t, c, none)
		inline := events.StateHandle{Inline: make([]byte, events.MaxInline)}
		for i := range inline.Inline {
			inline.Inline[i] = '1'
		}
		epoch, _, _ := w.mem.Token()
		w.publish(&events.TaskAcked{Checkpoint: h.ID, Task: "task-1", Epoch: epoch, Handle: inline})
		wait(t, h) // about 98 kB
		c2 := trigger(t, c, none)
		handle := inline
		for range 100 {
			handle.Chunks = append(handle.Chunks, chunk(t, w.store, "a"))
			handle.Chunks[len(handle.Chunks)-1].Name = "part-" + string(rune('a'+len(handle.Chunks)))
		}
		w.publish(&events.TaskAcked{Checkpoint: c2.ID, Task: "task-1", Epoch: epoch, Handle: handle})
		waitFailed(t, c2, events.FailedFinalize)
	})
}

// A log that fails or hides what became of its writes: each is repeated, and counts once.
func TestAppendsOfUnknownOutcomeCountOnce(t *testing.T) {
	for name, outcome := range map[string]func(memlog.Op) memlog.Outcome{
		"happened and hidden": memlog.Hidden, "lost": memlog.Lost,
		"refused": func(memlog.Op) memlog.Outcome { return memlog.Refuse(errors.New("OOM command not allowed")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorldWithLogFaults(t, func(op memlog.Op, n int) memlog.Outcome {
					if n%2 == 0 {
						return memlog.Outcome{}
					}
					return outcome(op)
				})
				c := w.open(func(cfg *coordinator.Config) { cfg.Retain = 1 })
				for range 3 {
					h := trigger(t, c, none)
					ackWith(t, w, c, h.ID, "task-1", "a")
					ackWith(t, w, c, h.ID, "task-2", "b"+h.ID.String())
					wait(t, h)
				}
				time.Sleep(time.Minute)
				s := w.fold()
				if got := s.Statistics(); got.Triggered != 3 || got.Completed != 3 || got.Retired != 2 || got.Discarded != 2 {
					t.Errorf("%+v", got)
				}
				if len(w.lines.with("append to the log", "again_in_ms"))+len(w.lines.with("repeated")) == 0 {
					t.Error("the operator was not told")
				}
			})
		})
	}
}

func TestShutdownEndsWithoutALog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var down atomic.Bool
		w := newWorldWithLogFaults(t, func(memlog.Op, int) memlog.Outcome {
			if down.Load() {
				return memlog.Refuse(errors.New("connection refused"))
			}
			return memlog.Outcome{}
		})
		c, stop := w.run(nil)
		time.Sleep(time.Second)
		h := trigger(t, c, none)
		synctest.Wait()
		down.Store(true)
		began := time.Now()
		_ = stop() // the lease could not be given back, which it says
		if took := time.Since(began); took > coordinator.DefaultDrainTimeout+15*time.Second {
			t.Errorf("it took %s", took)
		}
		if err := h.Wait(t.Context()); !errors.Is(err, coordinator.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
	})
}

func memoryWith(t *testing.T, id events.CheckpointID) store.Store {
	t.Helper()
	st := memory.New(memory.Options{})
	cp := store.New(id, 1)
	cp.Complete()
	if err := st.Store(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	return st
}
