package coordinator_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func (w *world) wantChunk(ref events.ChunkRef, permanent bool) {
	w.t.Helper()
	time.Sleep(store.DefaultChunkLife + coordinator.DefaultChunkGrace + time.Minute)
	if got := w.permanent(ref.Digest.String()); got != permanent {
		w.t.Errorf("chunk is permanent: %t", got)
	}
}

// A chunk of a failed checkpoint is about to get an end of life when another one acks with the same content.
func TestAChunkThatIsBeingReleasedStaysForWhoeverCompletesWithIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		done := trigger(t, c, none) // makes the chunk permanent, and is not kept
		refs := ackWith(t, w, c, done.ID, "task-1", "shared")
		w.faults.Add(storetest.Fault{Op: storetest.OpKeep, When: storetest.After, Times: 10})
		ackWith(t, w, c, done.ID, "task-2", "other")
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpRelease, When: storetest.Hang})
		waitFailed(t, done, events.FailedFinalize)
		<-hang.Entered()
		next := trigger(t, c, none)
		ackWith(t, w, c, next.ID, "task-1", "shared")
		ackWith(t, w, c, next.ID, "task-2", "shared")
		synctest.Wait()
		hang.Remove()
		wait(t, next)
		w.wantChunk(refs[0], true)
	})
}

// A checkpoint ends while its chunks are being made permanent.
func TestAChunkIsNotLeftPermanentByACheckpointThatFailedMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(1)
		c := w.open(expecting(list))
		w.bringUp(list, "1")
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpKeep, When: storetest.Hang})
		h := trigger(t, c, none)
		ref := chunk(t, w.store, "mine")
		w.publish(&events.TaskAcked{
			Checkpoint: h.ID, Task: list[0], Attempt: 1, Epoch: 1, Handle: events.StateHandle{Chunks: []events.ChunkRef{ref}},
		})
		<-hang.Entered()
		w.publish(&events.TaskRegistered{Task: list[0], Instance: "another"})
		waitFailed(t, h, events.FailedTaskRestarted)
		synctest.Wait()
		hang.Remove()
		time.Sleep(time.Minute)
		w.wantChunk(ref, false)
	})
}

// slow is a log that delivers what was read some time later.
type slow struct {
	journal
	delay func() time.Duration
}

func (s slow) Follow(ctx context.Context, after events.Position, opts eventlog.FollowOptions) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		for batch, err := range s.journal.Follow(ctx, after, opts) {
			if d := s.delay(); d > 0 {
				time.Sleep(d)
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

func TestAnAckThatWasInTheLogInTimeCountsThoughItWasReadLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		var delay atomic.Int64
		c := w.open(func(cfg *coordinator.Config) {
			cfg.RequiredAcks, cfg.Timeout = 1, 30*time.Millisecond
			cfg.Log = slow{w.log, func() time.Duration { return time.Duration(delay.Load()) }}
		})
		first := trigger(t, c, none)
		time.Sleep(20 * time.Millisecond)
		second := trigger(t, c, none)
		synctest.Wait()
		delay.Store(int64(100 * time.Millisecond)) // the read that ends with the first one's deadline arrives after the second one's
		time.Sleep(20 * time.Millisecond)
		w.publish(&events.TaskAcked{Checkpoint: second.ID, Task: "task-1", Epoch: 1})
		wait(t, second)
		if err := first.Wait(t.Context()); !errors.Is(err, coordinator.ErrFailed) { // expired, or subsumed a moment before
			t.Errorf("the first one: %v", err)
		}
	})
}

func TestAfterAFailoverNothingThatWasSeenIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		_, stop := w.run(nil)
		time.Sleep(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		before := w.fold().Position()
		c := w.open(nil) // epoch 2
		h := trigger(t, c, none)
		pending := make(chan error, 1)
		go func() {
			_, err := c.Acknowledge(t.Context(), h.ID, "task-1", coordinator.Ack{})
			pending <- err
		}()
		if err := <-pending; err != nil {
			t.Fatal(err)
		}
		// All of that was on the master alone: log, token and record.
		w.mem.Rewind(before)
		w.mem.DropToken()
		if _, err := w.store.Delete(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		waitFailed(t, h, events.FailedCoordinatorChanged)
		w.eventually("it leads again", func() bool { return w.fold().Epoch() > 2 })
		time.Sleep(time.Second)
		if next := trigger(t, c, none); next.ID <= h.ID {
			t.Errorf("id %s was used before", next.ID)
		}
		if got := ack(t, c, h.ID, "task-1"); got == projection.Applied {
			t.Error("an ack for what never happened counts")
		}
		w.eventually("the gap is in the log", func() bool { return count[*events.LogGapFound](w) == 1 })
	})
}

func TestACompletedOneWhoseRecordIsStillOpenIsNeitherRetiredNorCleanedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.Retain = 1 })
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpComplete, When: storetest.Hang})
		first := trigger(t, c, none)
		ackWith(t, w, c, first.ID, "task-1", "a")
		ackWith(t, w, c, first.ID, "task-2", "b")
		<-hang.Entered()
		second := trigger(t, c, none)
		ackWith(t, w, c, second.ID, "task-1", "c")
		ackWith(t, w, c, second.ID, "task-2", "d")
		wait(t, second)
		synctest.Wait()
		if n, err := c.Cleanup(t.Context(), 0); n != 0 || err != nil {
			t.Errorf("cleanup: %d, %v", n, err)
		}
		if phase, record := w.phase(first.ID), w.record(first.ID); phase != "completed" || record != open {
			t.Errorf("%s, record %s", phase, record)
		}
		hang.Remove()
		wait(t, first)
		time.Sleep(time.Second)
		if record := w.record(first.ID); record != absent {
			t.Errorf("afterwards its record is %s", record)
		}
	})
}

func TestAVerdictThatIsInTheLogIsToldThoughTheCoordinatorStopsBeforeTheRecordIsMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		hang := w.faults.Add(storetest.Fault{Op: storetest.OpComplete, When: storetest.Hang})
		h := trigger(t, c, none)
		ackWith(t, w, c, h.ID, "task-1", "a")
		ackWith(t, w, c, h.ID, "task-2", "b")
		<-hang.Entered()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wait(t, h)
		if phase, record := w.phase(h.ID), w.record(h.ID); phase != "completed" || record != open {
			t.Errorf("%s, record %s", phase, record)
		}
		w.open(nil)
		w.eventually("the next one marks it", func() bool { return w.record(h.ID) == marked })
	})
}
