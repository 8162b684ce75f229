package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

// expecting makes the coordinator wait for these tasks, whose signs of life nobody looks for in these tests.
func expecting(list []events.TaskID) func(*coordinator.Config) {
	return func(cfg *coordinator.Config) { cfg.Tasks, cfg.PresenceTTL = list, 1000*time.Hour }
}

// bringUp registers and restores tasks under an instance each.
func (w *world) bringUp(list []events.TaskID, instance string) {
	w.t.Helper()
	for _, task := range list {
		w.publish(&events.TaskRegistered{Task: task, Instance: events.InstanceID(string(task) + "-" + instance)})
	}
	for _, t := range w.fold().Tasks() {
		if t.Instance == events.InstanceID(string(t.ID)+"-"+instance) {
			w.publish(&events.TaskRestored{Task: t.ID, Attempt: t.Attempt, Checkpoint: t.Restore})
		}
	}
	synctest.Wait()
}

// ackSet acks for each task under its current attempt.
func (w *world) ackSet(id events.CheckpointID, list []events.TaskID, content func(events.TaskID) string) {
	w.t.Helper()
	s := w.fold()
	for _, task := range list {
		row, _ := s.Task(task)
		e := &events.TaskAcked{Checkpoint: id, Task: task, Attempt: row.Attempt, Epoch: s.Epoch()}
		if content != nil {
			e.Handle.Chunks = []events.ChunkRef{chunk(w.t, w.store, content(task))}
		}
		w.publish(e)
	}
}

func TestNoTriggerBeforeEveryExpectedTaskIsRestored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(3)
		c := w.open(expecting(list))
		_, err := c.Trigger(t.Context(), none)
		wantRefused(t, err, events.RefusedTasksNotReady)
		w.bringUp(list[:2], "1")
		_, err = c.Trigger(t.Context(), none)
		wantRefused(t, err, events.RefusedTasksNotReady)
		if !strings.Contains(err.Error(), "task-003 has not registered") {
			t.Errorf("the refusal does not say what is missing: %v", err)
		}
		w.bringUp(list[2:], "1")
		h := trigger(t, c, none)
		w.ackSet(h.ID, list, func(task events.TaskID) string { return string(task) })
		wait(t, h)
		cp := wantRecord(t, c, h.ID, true)
		if len(cp.State) != 3 {
			t.Errorf("the record holds %d handles", len(cp.State))
		}
		synctest.Wait() // the announcement follows the landing, and Wait returns between them
		control, _, err := w.log.LatestControl(t.Context())
		if err != nil || control.LatestCompleted != h.ID || len(control.Pending) != 0 {
			t.Errorf("control: %+v, %v", control, err)
		}
	})
}

func TestOneOfAHundredIsMissing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(100)
		c := w.open(expecting(list))
		w.bringUp(list, "1")
		h := trigger(t, c, none)
		w.ackSet(h.ID, append(tasks(41), list[42:]...), func(task events.TaskID) string { return string(task) })
		time.Sleep(time.Minute + time.Second)
		failed := failure(t, h, events.FailedExpired)
		if diff := cmp.Diff([]events.TaskID{"task-042"}, failed.Missing); diff != "" {
			t.Error(diff)
		}
		if len(w.lines.with("checkpoint failed", `"not_acked":"task-042"`, `"acked":99`)) != 1 {
			t.Error("the log line does not name the one that is missing")
		}
		time.Sleep(time.Second)
		if n := count[*events.StateDiscarded](w); n != 1 {
			t.Errorf("discarded %d times", n)
		}
		next := trigger(t, c, none)
		w.ackSet(next.ID, list, nil)
		wait(t, next)
	})
}

func TestANewInstanceEndsWhatNeedsTheOldOneAndGetsItsRestorePoint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(2)
		c := w.open(expecting(list))
		w.bringUp(list, "1")
		first := trigger(t, c, none)
		w.ackSet(first.ID, list, func(task events.TaskID) string { return string(task) })
		wait(t, first)
		second := trigger(t, c, none)
		w.publish(&events.TaskRegistered{Task: list[0], Instance: "another"})
		waitFailed(t, second, events.FailedTaskRestarted)
		synctest.Wait()
		got, ok, err := w.log.Assignment(t.Context(), list[0])
		want := eventlog.Assignment{Instance: "another", Attempt: 2, Restore: first.ID, Phase: "registered"}
		if !ok || err != nil || got != want {
			t.Errorf("assignment %+v, %t, %v", got, ok, err)
		}
	})
}

func TestATaskWithoutSignsOfLifeIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(2)
		c := w.open(func(cfg *coordinator.Config) { cfg.Tasks = list })
		beating := map[events.TaskID]bool{list[0]: true, list[1]: true}
		beat := func() {
			for _, task := range list {
				if !beating[task] {
					continue
				}
				p := eventlog.Presence{Instance: events.InstanceID(string(task) + "-1"), Attempt: 1}
				if err := w.log.Beat(t.Context(), task, p, coordinator.DefaultPresenceTTL); err != nil {
					t.Fatal(err)
				}
			}
		}
		beat()
		w.bringUp(list, "1")
		for range 20 {
			beat()
			time.Sleep(3 * time.Second)
		}
		if n := count[*events.TaskLost](w); n != 0 {
			t.Fatalf("%d lost while all beat", n)
		}
		h := trigger(t, c, none)
		beating[list[1]] = false
		died := time.Now()
		for h.ID == 0 && count[*events.TaskLost](w) == 0 && time.Since(died) < time.Minute {
			beat()
			time.Sleep(time.Second)
		}
		if took := time.Since(died); took > 2*coordinator.DefaultPresenceTTL {
			t.Errorf("it took %s", took)
		}
		failed := failure(t, h, events.FailedTaskLost)
		if !strings.Contains(failed.Text, string(list[1])) {
			t.Errorf("text %q", failed.Text)
		}
		_, err := c.Trigger(t.Context(), none)
		wantRefused(t, err, events.RefusedTasksNotReady)
		time.Sleep(time.Second)
		if n := count[*events.TaskLost](w); n != 1 {
			t.Errorf("lost %d times", n)
		}
	})
}

func TestRetentionKeepsTheNewestAndTheirChunks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(2)
		c := w.open(func(cfg *coordinator.Config) {
			expecting(list)(cfg)
			cfg.Retain = 2
		})
		w.bringUp(list, "1")
		var refs []events.ChunkRef
		for i := range 5 {
			h := trigger(t, c, none)
			for _, task := range list {
				shared, own := chunk(t, w.store, "shared"), chunk(t, w.store, fmt.Sprintf("%s in %d", task, i))
				own.Name = "own"
				refs = append(refs, own)
				w.publish(&events.TaskAcked{
					Checkpoint: h.ID, Task: task, Attempt: 1, Epoch: 1,
					Handle: events.StateHandle{Chunks: []events.ChunkRef{shared, own}},
				})
			}
			wait(t, h)
		}
		time.Sleep(store.DefaultChunkLife + coordinator.DefaultChunkGrace + time.Minute)
		shared := chunk(t, newWorld(t).store, "shared")
		for i, ref := range append(refs, shared) {
			_, err := w.store.(store.JobStore).GetChunk(t.Context(), string(ref.Digest))
			if kept := i >= 6; (err == nil) != kept {
				t.Errorf("chunk %d: %v, want kept %t", i, err, kept)
			}
		}
		for id := range events.CheckpointID(5) {
			_, err := c.Get(t.Context(), id)
			if kept := id >= 3; (err == nil) != kept {
				t.Errorf("record %s: %v, want kept %t", id, err, kept)
			}
		}
	})
}

func TestOneUndeletableRecordHoldsUpNeitherOthersNorTriggers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(func(cfg *coordinator.Config) { cfg.Retain, cfg.MaxConcurrent = 1, 1 })
		complete := func() events.CheckpointID {
			h := trigger(t, c, none)
			ackWith(t, w, c, h.ID, "task-1", "a"+h.ID.String())
			ackWith(t, w, c, h.ID, "task-2", "b"+h.ID.String())
			wait(t, h)
			return h.ID
		}
		complete()
		fault := w.faults.Add(storetest.Fault{Op: storetest.OpDelete, Times: 30})
		for range 10 {
			complete()
			time.Sleep(time.Minute)
		}
		if fault.Hits() == 0 || fault.Hits() > 30 {
			t.Errorf("%d failed deletions", fault.Hits())
		}
		fault.Remove()
		time.Sleep(time.Minute)
		if waste := w.fold().Waste(); len(waste) != 0 {
			t.Errorf("left: %v", waste)
		}
	})
}

func TestFinishedTasksEndTheJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		list := tasks(2)
		c := w.open(expecting(list))
		w.bringUp(list, "1")
		h := trigger(t, c, none)
		w.ackSet(h.ID, list, func(task events.TaskID) string { return string(task) })
		wait(t, h)
		w.publish(&events.TaskFinished{Task: list[0], Attempt: 1, Checkpoint: h.ID})
		next := trigger(t, c, none)
		w.ackSet(next.ID, list[1:], func(events.TaskID) string { return "more" })
		wait(t, next)
		if n := len(wantRecord(t, c, next.ID, true).State); n != 2 {
			t.Errorf("%d handles, the finished task's among them", n)
		}
		w.publish(&events.TaskFinished{Task: list[1], Attempt: 1, Checkpoint: next.ID})
		synctest.Wait()
		if control, _, err := w.log.LatestControl(t.Context()); err != nil || !control.Finished {
			t.Errorf("control %+v, %v", control, err)
		}
		_, err := c.Trigger(t.Context(), none)
		wantRefused(t, err, events.RefusedTasksNotReady)
	})
}
