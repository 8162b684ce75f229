package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

func TestOnlyAcksThatNameTheJoiningEventCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = 1 })
		h := trigger(t, c, coordinator.TriggerOptions{JoiningEvent: "offset-100"})
		if got := ack(t, c, h.ID, "task-1"); got != projection.WrongJoiningEvent {
			t.Errorf("plain ack: %s", got)
		}
		for event, want := range map[string]projection.OutcomeKind{"offset-99": projection.WrongJoiningEvent} {
			o, err := c.AcknowledgeOnEvent(t.Context(), h.ID, "task-1", event, coordinator.Ack{})
			if err != nil || o.Kind != want {
				t.Errorf("%s: %s, %v", event, o.Kind, err)
			}
		}
		wantPending(t, c, 1)
		if len(w.lines.with("event did not count", "wrong_joining_event")) != 2 {
			t.Error("the refusals are not in the log")
		}
		o, err := c.AcknowledgeOnEvent(t.Context(), h.ID, "task-1", "offset-100", coordinator.Ack{})
		if err != nil || o.Kind != projection.Completing {
			t.Errorf("ack on the event: %s, %v", o.Kind, err)
		}
		wait(t, h)
		if _, err := c.Trigger(t.Context(), coordinator.TriggerOptions{JoiningEvent: strings.Repeat("x", 2000)}); err == nil {
			t.Error("a joining event of 2000 bytes was taken")
		}
	})
}

func TestADeclineFailsAtOnceWithTaskAndCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		began := time.Now()
		first, second := trigger(t, c, none), trigger(t, c, none)
		ack(t, c, first.ID, "task-1")
		for i, want := range []projection.OutcomeKind{projection.Applied, projection.Late} {
			o, err := c.Decline(t.Context(), first.ID, "task-7", 0, events.DeclinedUploadFailed, "backend full")
			if err != nil || o.Kind != want {
				t.Errorf("decline %d: %s, %v", i, o.Kind, err)
			}
			synctest.Wait()
		}
		failed := failure(t, first, events.FailedDeclined)
		if !strings.Contains(failed.Text, "Checkpoint declined by task task-7: backend full") {
			t.Errorf("text: %q", failed.Text)
		}
		if time.Since(began) > time.Second {
			t.Errorf("it took %s", time.Since(began))
		}
		if len(w.lines.with("Checkpoint declined by task", "task-7", "backend full")) == 0 {
			t.Error("the phrase is not in the log")
		}
		wantPending(t, c, 1) // the other one is untouched
		ack(t, c, second.ID, "task-1")
		ack(t, c, second.ID, "task-2")
		wait(t, second)
	})
}

func TestTheEndIsTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		done := trigger(t, c, none)
		ack(t, c, done.ID, "task-1")
		ack(t, c, done.ID, "task-2")
		wait(t, done)
		failed := trigger(t, c, none)
		if _, err := c.Decline(t.Context(), failed.ID, "task-1", 0, events.DeclinedOther, ""); err != nil {
			t.Fatal(err)
		}
		waitFailed(t, failed, events.FailedDeclined)
		for _, h := range []*coordinator.Handle{done, failed} {
			if got := ack(t, c, h.ID, "task-9"); got != projection.Late {
				t.Errorf("ack after the end: %s", got)
			}
			o, err := c.Decline(t.Context(), h.ID, "task-9", 0, events.DeclinedOther, "")
			if err != nil || o.Kind != projection.Late {
				t.Errorf("decline after the end: %s, %v", o.Kind, err)
			}
			if err := c.Complete(t.Context(), h.ID); !errors.Is(err, coordinator.ErrNotPending) {
				t.Errorf("complete after the end: %v", err)
			}
		}
		if err := c.AbortAll(t.Context(), "job cancelled"); err != nil {
			t.Error(err)
		}
		wait(t, done)
		waitFailed(t, failed, events.FailedDeclined)
		wantRecord(t, c, done.ID, true)
		wantRecord(t, c, failed.ID, false)
	})
}

func TestAbortAllEndsEveryPendingOneWithItsCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		var handles []*coordinator.Handle
		for range 3 {
			h := trigger(t, c, none)
			ackWith(t, w, c, h.ID, "task-1", "state of "+h.ID.String())
			handles = append(handles, h)
		}
		if err := c.AbortAll(t.Context(), "job cancelled"); err != nil {
			t.Fatal(err)
		}
		for _, h := range handles {
			if failed := failure(t, h, events.FailedAborted); failed.Text != "job cancelled" {
				t.Errorf("text %q", failed.Text)
			}
		}
		time.Sleep(time.Second)
		wantPending(t, c, 0)
		discarded := map[events.CheckpointID]int{}
		for _, env := range w.events() {
			if e, ok := env.Event.(*events.StateDiscarded); ok {
				for _, id := range e.Checkpoints {
					discarded[id]++
				}
			}
		}
		for _, h := range handles {
			if discarded[h.ID] != 1 {
				t.Errorf("state of %s was discarded %d times", h.ID, discarded[h.ID])
			}
		}
		if n := w.faults.Calls(storetest.OpDelete); n != 3 {
			t.Errorf("%d records deleted", n)
		}
	})
}

func TestACompletedOneSubsumesThePendingOnesBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newPlainWorld(t).open(nil)
		older, savepoint := trigger(t, c, none), trigger(t, c, coordinator.TriggerOptions{Type: events.TypeSavepoint})
		newer := trigger(t, c, none)
		ack(t, c, newer.ID, "task-1")
		ack(t, c, newer.ID, "task-2")
		wait(t, newer)
		waitFailed(t, older, events.FailedSubsumed)
		wantPending(t, c, 1)
		ack(t, c, savepoint.ID, "task-1")
		ack(t, c, savepoint.ID, "task-2")
		wait(t, savepoint)
		if latest, err := c.Latest(t.Context()); err != nil || latest.ID != newer.ID {
			t.Errorf("latest %v, %v", latest, err)
		}
	})
}

func TestARepeatedRequestGetsTheSameAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(nil)
		again := coordinator.TriggerOptions{Request: "deploy-7"}
		first := trigger(t, c, again)
		if second := trigger(t, c, again); second.ID != first.ID {
			t.Errorf("second call triggered %s", second.ID)
		}
		ack(t, c, first.ID, "task-1")
		ack(t, c, first.ID, "task-2")
		wait(t, first)
		third := trigger(t, c, again) // long answered, and ended
		wait(t, third)
		if third.ID != first.ID || count[*events.CheckpointTriggered](w) != 1 {
			t.Errorf("third call triggered %s", third.ID)
		}
		_, err := c.Trigger(t.Context(), coordinator.TriggerOptions{Request: "deploy-7", Type: events.TypeSavepoint})
		wantRefused(t, err, events.RefusedDuplicate)

		w.faults.Add(storetest.Fault{Op: storetest.OpCreate})
		for range 2 { // a refusal is an answer too
			_, err := c.Trigger(t.Context(), coordinator.TriggerOptions{Request: "deploy-8"})
			wantRefused(t, err, events.RefusedStoreFailed)
		}
	})
}

func TestSeveralWhoWaitForOneRequestAllGetItsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.MaxConcurrent = 1 })
		blocking := trigger(t, c, none)
		ids := make(chan events.CheckpointID, 3) // one place each
		for range cap(ids) {
			go func() {
				h, err := c.Trigger(t.Context(), coordinator.TriggerOptions{Request: "one"})
				if err != nil {
					t.Error(err)
					ids <- -1
					return
				}
				ids <- h.ID
			}()
		}
		synctest.Wait()
		conflict := make(chan error, 1)
		go func() {
			_, err := c.Trigger(t.Context(), coordinator.TriggerOptions{Request: "one", JoiningEvent: "other"})
			conflict <- err
		}()
		wantRefused(t, <-conflict, events.RefusedDuplicate)
		if err := c.Complete(t.Context(), blocking.ID); err != nil {
			t.Fatal(err)
		}
		for range cap(ids) {
			if id := <-ids; id != 1 {
				t.Errorf("id %s", id)
			}
		}
	})
}

func TestTheQueueOfRequestsIsBoundedAndServesSavepointsFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newPlainWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.MaxConcurrent, cfg.QueueLimit = 1, 2 })
		blocking := trigger(t, c, none)
		type answer struct {
			name events.RequestID
			id   events.CheckpointID
			err  error
		}
		answers := make(chan answer, 3) // one place each
		ask := func(name events.RequestID) {
			go func() {
				h, err := c.Trigger(t.Context(), coordinator.TriggerOptions{Request: name})
				a := answer{name: name, err: err}
				if err == nil {
					a.id = h.ID
				}
				answers <- a
			}()
			synctest.Wait()
		}
		ask("a")
		if h := trigger(t, c, coordinator.TriggerOptions{Type: events.TypeSavepoint}); h.ID != 1 { // needs no slot
			t.Errorf("savepoint got %s", h.ID)
		}
		ask("b")
		ask("c") // one too many
		if a := <-answers; a.name != "c" {
			t.Fatalf("%s was answered: %v", a.name, a.err)
		} else {
			wantRefused(t, a.err, events.RefusedQueueFull)
		}
		id := blocking.ID
		for _, want := range []events.RequestID{"a", "b"} { // one after the other, old before young
			if err := c.Complete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			a := <-answers
			if a.name != want || a.err != nil {
				t.Errorf("%s was served: %v", a.name, a.err)
			}
			id = a.id
		}
	})
}
