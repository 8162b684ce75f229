package coordinator_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

// doubtful is a job of two tasks with three completed checkpoints. Each task has one chunk in each of them.
type doubtful struct {
	*world
	c    *coordinator.Coordinator
	list []events.TaskID
}

func newDoubtful(t *testing.T, fallBack bool) *doubtful {
	t.Helper()
	d := &doubtful{world: newWorld(t), list: tasks(2)}
	d.c = d.open(func(cfg *coordinator.Config) { expecting(d.list)(cfg); cfg.FallBack = fallBack })
	d.bringUp(d.list, "1")
	for range 3 {
		d.checkpoint()
	}
	return d
}

func content(task events.TaskID, id events.CheckpointID) string {
	return string(task) + " in " + id.String()
}

func (d *doubtful) checkpoint() events.CheckpointID {
	d.t.Helper()
	h := trigger(d.t, d.c, none)
	d.ackSet(h.ID, d.list, func(task events.TaskID) string { return content(task, h.ID) })
	wait(d.t, h)
	synctest.Wait()
	return h.ID
}

// fenced is the store as the coordinator in power writes it.
func (d *doubtful) fenced() store.JobStore {
	epoch, instance, _ := d.mem.Token()
	return d.store.(store.JobStore).Fenced(store.Fence{Epoch: epoch, Instance: instance})
}

// vanish takes the task's chunk out of a checkpoint.
func (d *doubtful) vanish(task events.TaskID, id events.CheckpointID) {
	d.t.Helper()
	digest := digestOf(d.t, content(task, id))
	if err := d.fenced().Release(d.t.Context(), []string{digest}, time.Millisecond); err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
}

// register starts a worker and gives what it is assigned; ok is false while nothing is.
func (d *doubtful) register(task events.TaskID, instance events.InstanceID) (a eventlog.Assignment, ok bool) {
	d.t.Helper()
	d.publish(&events.TaskRegistered{Task: task, Instance: instance})
	synctest.Wait()
	return d.assigned(task, instance)
}

func (d *doubtful) assigned(task events.TaskID, instance events.InstanceID) (a eventlog.Assignment, ok bool) {
	d.t.Helper()
	a, ok, err := d.log.Assignment(d.t.Context(), task)
	if err != nil {
		d.t.Fatal(err)
	}
	return a, ok && a.Instance == instance
}

// complains is a worker that is given the restore point, cannot restore it, and says so.
func (d *doubtful) complains(task events.TaskID, instance events.InstanceID, id events.CheckpointID, why events.RestoreFailure) {
	d.t.Helper()
	a, ok := d.register(task, instance)
	if !ok || a.Restore != id {
		d.t.Fatalf("%s is to restore %s, %t; not %s", task, a.Restore, ok, id)
	}
	d.publish(&events.TaskRestoreFailed{Task: task, Attempt: a.Attempt, Checkpoint: id, Reason: why})
	synctest.Wait()
}

func (d *doubtful) wantRestore(task events.TaskID, instance events.InstanceID, id events.CheckpointID) {
	d.t.Helper()
	if a, ok := d.register(task, instance); !ok || a.Restore != id {
		d.t.Errorf("%s is to restore %s, %t; want %s\n%q", task, a.Restore, ok, id, d.lines.with("doubt"))
	}
}

func (d *doubtful) wantLatest(id events.CheckpointID) {
	d.t.Helper()
	control, _, err := d.log.LatestControl(d.t.Context())
	if got := d.fold().LatestCompleted(); err != nil || got != id || control.LatestCompleted != id {
		d.t.Errorf("the newest is %s, announced as %s, %v; want %s", got, control.LatestCompleted, err, id)
	}
}

func TestACheckpointThatCannotBeRestoredIsWithdrawnByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		d.vanish(d.list[0], 2)
		d.complains(d.list[0], "x", 2, events.RestoreChunkMissing)
		d.wantLatest(1)
		d.wantRestore(d.list[0], "y", 1)
		s := d.fold()
		row, _ := s.Task(d.list[0])
		d.publish(&events.TaskRestored{Task: row.ID, Attempt: row.Attempt, Checkpoint: 1})
		synctest.Wait()
		if id := d.checkpoint(); id != 3 { // the other task has gone on all the time
			t.Errorf("the next is %s", id)
		}
		d.wantLatest(3)
		if cp, _ := d.fold().Checkpoint(2); !cp.Withdrawn || d.record(2) != absent || d.record(1) != marked {
			t.Errorf("2 is %+v, its record %s", cp, d.record(2))
		}
		time.Sleep(2 * coordinator.DefaultChunkGrace)
		if d.permanent(digestOf(t, content(d.list[1], 2))) || !d.permanent(digestOf(t, content(d.list[1], 1))) {
			t.Error("chunks of the withdrawn one stay, or others go")
		}
	})
}

func TestWithoutFallBackAPersonDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, false)
		d.vanish(d.list[0], 2)
		d.complains(d.list[0], "x", 2, events.RestoreChunkMissing)
		d.wantRestore(d.list[0], "y", 2)
		if len(d.lines.with("coordinator withdraw 2", "chunk missing", "task-001/part")) != 1 {
			t.Errorf("the operator was not told what to do: %q", d.lines.with("withdraw"))
		}
		d.publish(&events.WithdrawalRequested{Request: "r1", Checkpoint: 2, Cause: "disk swapped"})
		synctest.Wait()
		d.wantLatest(1)
		if a, ok := d.assigned(d.list[0], "y"); !ok || a.Restore != 1 { // the same attempt, another restore point
			t.Errorf("assigned %+v, %t", a, ok)
		}
		if r, _ := d.fold().Request("r1"); r.Status.String() != "withdrawn" || r.Checkpoint != 2 {
			t.Errorf("the request is %+v", r)
		}
	})
}

func TestAWorkerThatIsWrongWithdrawsNothing(t *testing.T) {
	for _, why := range events.RestoreFailures() {
		bubble(t, func(t *testing.T) {
			d := newDoubtful(t, true)
			d.vanish(d.list[1], 2) // of a task that has not complained
			d.complains(d.list[0], "x", 2, why)
			d.wantRestore(d.list[0], "y", 2)
			d.wantLatest(2)
			if n := count[*events.CheckpointsWithdrawn](d.world); n != 0 || len(d.lines.with("its state can be read")) != 1 {
				t.Errorf("%s: %d withdrawn", why, n)
			}
		})
	}
}

func TestARecordThatIsGoneIsWrittenAnewInsteadOfWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		if _, err := d.fenced().Delete(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		d.complains(d.list[0], "x", 2, events.RestoreRecordMissing)
		d.wantRestore(d.list[0], "y", 2)
		if cp := wantRecord(t, d.c, 2, true); len(cp.State) != 2 {
			t.Errorf("the record holds %d handles", len(cp.State))
		}
	})
}

func TestNobodyIsGivenARestorePointWhileItIsLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		d.vanish(d.list[0], 2)
		fault := d.faults.Add(storetest.Fault{Op: storetest.OpGetChunk, Times: -1})
		d.complains(d.list[0], "x", 2, events.RestoreChunkMissing)
		for _, task := range d.list {
			if a, ok := d.register(task, "y"); ok {
				t.Errorf("%s is to restore %s, which is in doubt", task, a.Restore)
			}
		}
		if n := count[*events.CheckpointsWithdrawn](d.world); n != 0 {
			t.Error("withdrawn without a look")
		}
		fault.Remove()
		time.Sleep(time.Minute)
		for _, task := range d.list {
			if a, ok := d.assigned(task, "y"); !ok || a.Restore != 1 {
				t.Errorf("%s: %+v, %t", task, a, ok)
			}
		}
	})
}

func TestTheNewestThatCanBeReadIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		d.vanish(d.list[0], 2)
		d.vanish(d.list[0], 1)
		d.complains(d.list[0], "x", 2, events.RestoreChunkMissing)
		d.wantRestore(d.list[0], "y", 0)
		d.wantLatest(0)
		if n := count[*events.CheckpointsWithdrawn](d.world); n != 1 {
			t.Errorf("%d withdrawals", n)
		}
	})
}

func TestNothingIsNeverTheRestorePointUnlessAPersonSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		for id := range events.CheckpointID(3) {
			d.vanish(d.list[0], id)
		}
		d.complains(d.list[0], "x", 2, events.RestoreChunkMissing)
		d.wantRestore(d.list[0], "y", 2)
		if len(d.lines.with("withdraw 2 --to-nothing")) != 1 {
			t.Error("the operator was not told what to do")
		}
		d.publish(&events.WithdrawalRequested{Request: "r1", Checkpoint: 2})
		synctest.Wait()
		if r, _ := d.fold().Request("r1"); r.Reason != events.RefusedNothingOlder || r.Remedy == "" {
			t.Errorf("the request is %+v", r)
		}
		d.wantLatest(2)
		d.publish(&events.WithdrawalRequested{Request: "r2", Checkpoint: 2, ToNothing: true})
		synctest.Wait()
		d.wantLatest(events.NoCheckpoint)
		if a, ok := d.assigned(d.list[0], "y"); !ok || a.Restore != events.NoCheckpoint {
			t.Errorf("assigned %+v, %t", a, ok)
		}
	})
}

func TestAHealthyCheckpointIsWithdrawnOnlyByForce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		d.publish(&events.WithdrawalRequested{Request: "r1", Checkpoint: 2})
		synctest.Wait()
		if r, _ := d.fold().Request("r1"); r.Reason != events.RefusedRestorable {
			t.Errorf("the request is %+v", r)
		}
		d.publish(&events.WithdrawalRequested{Request: "r2", Checkpoint: 1, Forced: true}) // not the newest: that one stays
		synctest.Wait()
		d.wantLatest(2)
		d.publish(&events.WithdrawalRequested{Request: "r3", Checkpoint: 2, Forced: true})
		synctest.Wait()
		d.wantLatest(0)
	})
}

// A chunk that is there is not sent again: left alone, the damage would be in the next checkpoint with the same content.
func TestADamagedChunkIsRemovedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		damage := d.faults.Add(storetest.Fault{Op: storetest.OpGetChunk, Times: -1, Err: &store.CorruptError{Key: "x", Reason: "y"}})
		d.publish(&events.WithdrawalRequested{Request: "r1", Checkpoint: 2, ToNothing: true})
		synctest.Wait()
		damage.Remove()
		time.Sleep(time.Second)
		_, err := d.store.(store.JobStore).GetChunk(t.Context(), digestOf(t, content(d.list[0], 2)))
		if !errors.Is(err, store.ErrChunkMissing) {
			t.Errorf("the damaged chunk: %v", err)
		}
		d.wantLatest(events.NoCheckpoint)
	})
}
