package coordinator_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

func named(name events.InstanceID) func(*coordinator.Config) {
	return func(cfg *coordinator.Config) { cfg.Instance = name }
}

func (w *world) wantLeader(epoch events.Epoch, instance events.InstanceID) {
	w.t.Helper()
	s := w.fold()
	if s.Epoch() != epoch || s.Instance() != instance {
		w.t.Errorf("epoch %s of %s leads, want %s of %s", s.Epoch(), s.Instance(), epoch, instance)
	}
}

func TestOneOfTwoLeadsAndTheOtherSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		leader := w.open(named("a"))
		standby, _ := w.run(named("b"))
		time.Sleep(time.Minute)
		w.wantLeader(1, "a")
		for name, call := range verbs(standby) {
			switch err := call(t.Context()); name {
			case "trigger", "complete", "cleanup", "expire":
				if !errors.Is(err, coordinator.ErrNotLeading) {
					t.Errorf("%s at the standby: %v", name, err)
				}
			default: // these go through the log, whoever leads
				if err != nil {
					t.Errorf("%s at the standby: %v", name, err)
				}
			}
		}
		h := trigger(t, leader, none)
		synctest.Wait()
		wantPending(t, standby, 1)
		ack(t, standby, h.ID, "task-1") // the log is one
		ack(t, leader, h.ID, "task-2")
		wait(t, h)
		if n := count[*events.CheckpointRequested](w); n != 1 {
			t.Errorf("%d requests in the log", n)
		}
	})
}

func TestAStandbyTakesOverAtOnceWhenTheLeaderShutsDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		first, stop := w.run(named("a"))
		time.Sleep(time.Second)
		w.run(named("b"))
		h := trigger(t, first, none)
		ack(t, first, h.ID, "task-1")
		go func() {
			time.Sleep(9 * time.Second)
			w.publish(&events.TaskAcked{Checkpoint: h.ID, Task: "task-2", Epoch: 1})
		}()
		began := time.Now()
		if err := stop(); err != nil { // it drains: waits for the second ack
			t.Error(err)
		}
		wait(t, h)
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("the drain took %s", took)
		}
		resigned := time.Now()
		for w.fold().Epoch() != 2 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(resigned); took > 300*time.Millisecond {
			t.Errorf("takeover took %s", took)
		}
		w.wantLeader(2, "b")
	})
}

func TestADrainThatIsOverFailsWhatIsPendingByName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c, stop := w.run(func(cfg *coordinator.Config) { cfg.Timeout = coordinator.Never })
		time.Sleep(time.Second)
		h := trigger(t, c, none)
		ack(t, c, h.ID, "task-1")
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < coordinator.DefaultDrainTimeout || took > coordinator.DefaultDrainTimeout+time.Second {
			t.Errorf("the drain took %s", took)
		}
		failed := failure(t, h, events.FailedShutdown)
		if failed.Text != "1 of 2 acks when the coordinator stopped" {
			t.Errorf("text %q", failed.Text)
		}
		if at, _, ok, _ := w.log.LoadFold(t.Context()); !ok || at != w.fold().Position() {
			t.Errorf("fold saved at %s", at)
		}
	})
}

func TestCloseCutsADrainShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c, stop := w.run(nil)
		time.Sleep(time.Second)
		h := trigger(t, c, none)
		began := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		waitFailed(t, h, events.FailedShutdown)
	})
}

// frozen is a log whose coordinator can be stopped like a process under SIGSTOP: its calls do not happen until it wakes.
type frozen struct {
	*memlog.Log
	gate chan struct{} // holds one token while awake
}

func newFrozen(log *memlog.Log) *frozen {
	f := &frozen{Log: log, gate: make(chan struct{}, 1)}
	f.gate <- struct{}{}
	return f
}

func (f *frozen) freeze() { <-f.gate }
func (f *frozen) thaw()   { f.gate <- struct{}{} }

func (f *frozen) pass(ctx context.Context) {
	select {
	case token := <-f.gate:
		f.gate <- token
	case <-ctx.Done():
	}
}

func (f *frozen) Campaign(ctx context.Context, c eventlog.Candidate) (eventlog.Term, error) {
	f.pass(ctx)
	term, err := f.Log.Campaign(ctx, c)
	return frozenTerm{term, f}, err
}

type frozenTerm struct {
	eventlog.Term
	f *frozen
}

func (t frozenTerm) Append(ctx context.Context, envs ...events.Envelope) ([]events.Position, error) {
	t.f.pass(ctx)
	return t.Term.Append(ctx, envs...)
}

func (t frozenTerm) Renew(ctx context.Context) error {
	t.f.pass(ctx)
	return t.Term.Renew(ctx)
}

func (t frozenTerm) WriteControl(ctx context.Context, c eventlog.Control) error {
	t.f.pass(ctx)
	return t.Term.WriteControl(ctx, c)
}

func TestAPausedLeaderThatWakesIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		ice := newFrozen(w.mem)
		old := w.open(func(cfg *coordinator.Config) { cfg.Instance, cfg.Log = "a", ice })
		h := trigger(t, old, none)
		ack(t, old, h.ID, "task-1")
		synctest.Wait()
		ice.freeze()
		ack(t, old, h.ID, "task-2") // the verdict is decided on, and cannot be written
		w.run(named("b"))
		time.Sleep(coordinator.DefaultLeaseTTL + time.Second)
		w.wantLeader(2, "b")
		waitFailed(t, h, events.FailedCoordinatorChanged)
		ice.thaw()
		time.Sleep(time.Second)
		if n := count[*events.CheckpointCompleted](w); n != 0 {
			t.Errorf("%d verdicts of the old one", n)
		}
		if _, err := old.Get(t.Context(), h.ID); !errors.Is(err, store.ErrNotFound) { // the new one has discarded it
			t.Errorf("record: %v", err)
		}
		if got := ack(t, old, h.ID, "task-2"); got != projection.Late {
			t.Errorf("ack for the old epoch: %s", got)
		}
		if _, err := old.Trigger(t.Context(), none); !errors.Is(err, coordinator.ErrNotLeading) {
			t.Errorf("trigger at the old one: %v", err)
		}
		w.wantLeader(2, "b")
	})
}

func TestAckOfAnotherEpochIsRefusedVisibly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		h := trigger(t, c, none)
		w.publish(&events.TaskAcked{Checkpoint: h.ID, Task: "task-1", Epoch: 7})
		synctest.Wait()
		if len(w.lines.with("event did not count", "stale_epoch", "task-1")) != 1 {
			t.Error("it is not in the log")
		}
		view, _ := w.fold().Checkpoint(h.ID)
		if view.Acked != 0 {
			t.Errorf("%d acks", view.Acked)
		}
	})
}

func TestARestartedCoordinatorGoesOnAboveEverythingAndRepairsNothingTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for life := range 5 {
			c, stop := w.run(nil)
			for w.fold().Epoch() != events.Epoch(life+1) {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			h := trigger(t, c, none)
			if int(h.ID) != life {
				t.Errorf("life %d: id %s", life, h.ID)
			}
			ackWith(t, w, c, h.ID, "task-1", "same", "a"+h.ID.String())
			ackWith(t, w, c, h.ID, "task-2", "same")
			wait(t, h)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.fold().Statistics(); got.Completed != 5 || got.Triggered != 5 || got.Epochs != 5 {
			t.Errorf("%+v", got)
		}
	})
}

func TestATokenThatIsGoneIsTakenAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.open(nil)
		h := trigger(t, c, none)
		w.mem.DropToken()
		time.Sleep(time.Minute)
		waitFailed(t, h, events.FailedCoordinatorChanged)
		if epoch := w.fold().Epoch(); epoch != 2 {
			t.Errorf("epoch %s", epoch)
		}
		again := trigger(t, c, none)
		ack(t, c, again.ID, "task-1")
		ack(t, c, again.ID, "task-2")
		wait(t, again)
	})
}
