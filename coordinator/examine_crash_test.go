package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// reign lets a coordinator that may fall back lead for a minute, or until it dies at a step.
func (j *job) reign(kill func(string) bool) {
	j.t.Helper()
	j.lives++
	m := newMortal(j.log, kill)
	w := *j.world
	w.log, w.store = m, mortalStore{j.store.(store.JobStore), m}
	ctx, cancel := context.WithCancel(j.t.Context())
	defer cancel()
	go func() {
		select {
		case <-m.died:
			cancel()
		case <-ctx.Done():
		}
	}()
	c, err := coordinator.Open(ctx, w.config(func(cfg *coordinator.Config) {
		cfg.Retain, cfg.Instance, cfg.FallBack = 3, events.InstanceID(fmt.Sprintf("life-%d", j.lives)), true
	}))
	switch {
	case err != nil && ctx.Err() != nil: // it died before it was known to lead
		return
	case err != nil:
		j.t.Fatal(err)
	}
	time.Sleep(time.Minute)
	if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
		j.t.Error(err)
	}
}

// TestEveryCrashPointOfAWithdrawalIsRepaired has a line for each line about it in the table of the package's documentation.
// Checkpoint 1 loses a chunk, and somebody wants it withdrawn.
func TestEveryCrashPointOfAWithdrawalIsRepaired(t *testing.T) {
	for _, c := range []struct {
		after  string
		kill   func(string) bool
		phase  string
		record recordState
	}{
		{"withdrawal_requested appended", once("before append checkpoints_withdrawn", 1), "completed", marked},
		{"checkpoints_withdrawn appended", once("append checkpoints_withdrawn", 1), "retired", marked},
		{"chunks released", once("release", 1), "retired", marked},
		{"record deleted", once("delete 1", 1), "retired", absent},
		{"state_discarded appended", once("append state_discarded", 1), "completed", absent},
	} {
		t.Run(c.after, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := newJob(newWorld(t), func(cfg *coordinator.Config) { cfg.Retain = 3 })
				j.live(2, nil)
				d := doubtful{world: j.world}
				d.vanish("task-1", 1)
				j.publish(&events.WithdrawalRequested{Request: "r1", Checkpoint: 1})
				j.reign(c.kill)
				if phase, record := j.phase(1), j.record(1); phase != c.phase || record != c.record {
					t.Fatalf("after the crash: %s, record %s; want %s, %s", phase, record, c.phase, c.record)
				}
				j.reign(nil)
				if phase, record := j.phase(1), j.record(1); phase != "completed" || record != absent { // as it ended
					t.Errorf("after the repair: %s, record %s", phase, record)
				}
				if cp, _ := j.fold().Checkpoint(1); !cp.Withdrawn || j.record(0) != marked {
					t.Errorf("1 is %+v, the record of 0 %s", cp, j.record(0))
				}
				j.wantAnnounced()
				j.settle()
			})
		})
	}
}

func TestTheNextCoordinatorLooksIntoADoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newDoubtful(t, true)
		d.vanish(d.list[0], 2)
		a, _ := d.register(d.list[0], "x")
		if err := d.c.Close(); err != nil {
			t.Fatal(err)
		}
		d.publish(&events.TaskRestoreFailed{Task: d.list[0], Attempt: a.Attempt, Checkpoint: 2, Reason: events.RestoreChunkMissing})
		d.publish(&events.TaskRegistered{Task: d.list[0], Instance: "y"})
		d.c = d.open(func(cfg *coordinator.Config) { expecting(d.list)(cfg); cfg.FallBack = true })
		time.Sleep(time.Minute)
		if a, ok := d.assigned(d.list[0], "y"); !ok || a.Restore != 1 {
			t.Errorf("assigned %+v, %t", a, ok)
		}
		d.wantLatest(1)
	})
}
