package coordinator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// once dies at the nth time that the process comes to the step.
func once(step string, n int) func(string) bool {
	return func(s string) bool {
		if s == step {
			n--
		}
		return s == step && n == 0
	}
}

type recordState string

const (
	absent recordState = "absent"
	open   recordState = "open"
	marked recordState = "completed"
)

func (w *world) record(id events.CheckpointID) recordState {
	w.t.Helper()
	cp, err := w.store.Load(w.t.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return absent
	case err != nil:
		w.t.Fatal(err)
	case cp.Completed:
		return marked
	}
	return open
}

func (w *world) phase(id events.CheckpointID) string {
	w.t.Helper()
	cp, ok := w.fold().Checkpoint(id)
	if !ok {
		return "unknown"
	}
	if cp.Reason != "" {
		return cp.Phase.String() + ": " + string(cp.Reason)
	}
	return cp.Phase.String()
}

// TestEveryCrashPointIsRepaired has a line for each line of the table in the package's documentation. Checkpoint 0 completes;
// the process dies in checkpoint 1, or in what follows it.
func TestEveryCrashPointIsRepaired(t *testing.T) {
	for _, c := range []struct {
		after string
		kill  func(string) bool
		id    events.CheckpointID // the one to look at
		// What is there when the process is dead, and when the next one has led.
		phase    string
		record   recordState
		repaired string
		kept     recordState
	}{
		{"open record created", once("create 1", 1), 1, "unknown", open, "unknown", open},
		{"checkpoint_triggered appended", once("append checkpoint_triggered", 2), 1, "pending", open, "failed: coordinator_changed", absent},
		{"last ack appended", once("before keep", 2), 1, "finalizing", open, "failed: coordinator_changed", absent},
		{"chunks made permanent", once("keep", 2), 1, "finalizing", open, "failed: coordinator_changed", absent},
		{"checkpoint_completed appended", once("append checkpoint_completed", 2), 1, "completed", open, "completed", marked},
		{"record marked", once("complete 1", 1), 1, "completed", marked, "completed", marked},
		{"checkpoints_retired appended", once("append checkpoints_retired", 1), 0, "retired", marked, "completed", absent},
		{"chunks released", once("release", 1), 0, "retired", marked, "completed", absent},
		{"record deleted", once("delete 0", 1), 0, "retired", absent, "completed", absent},
		{"state_discarded appended", once("append state_discarded", 1), 0, "completed", absent, "completed", absent},
	} {
		t.Run(c.after, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j := newJob(newWorld(t), nil)
				steps := j.live(2, c.kill)
				if len(steps) == 0 {
					t.Fatal("it did not live")
				}
				if phase, record := j.phase(c.id), j.record(c.id); phase != c.phase || record != c.record {
					t.Fatalf("after the crash: %s, record %s; want %s, %s\n%q", phase, record, c.phase, c.record, steps)
				}
				before := j.fold().NextID()
				j.live(0, nil) // repairs, and triggers nothing
				j.eventuallyQuiet()
				if phase, record := j.phase(c.id), j.record(c.id); phase != c.repaired || record != c.kept {
					t.Errorf("after the repair: %s, record %s; want %s, %s", phase, record, c.repaired, c.kept)
				}
				j.wantAnnounced()
				j.settle()
				if next := j.fold().NextID(); next <= before || c.after == "open record created" && next < 3 {
					t.Errorf("next id %s after %s", next, before)
				}
			})
		})
	}
}

// eventuallyQuiet lets a coordinator lead until nothing is left to repair.
func (j *job) eventuallyQuiet() {
	j.t.Helper()
	j.lives++
	c := j.open(func(cfg *coordinator.Config) {
		cfg.Retain, cfg.Instance = 1, events.InstanceID(fmt.Sprintf("life-%d", j.lives))
	})
	time.Sleep(time.Minute)
	if err := c.Close(); err != nil {
		j.t.Error(err)
	}
}

func (j *job) wantAnnounced() {
	j.t.Helper()
	control, ok, err := j.log.LatestControl(j.t.Context())
	if err != nil || !ok || control.LatestCompleted != j.fold().LatestCompleted() {
		j.t.Errorf("control %+v, %v; the log says %s", control, err, j.fold().LatestCompleted())
	}
}

func TestCleanupRemovesARecordThatTheLogDoesNotKnow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := newJob(newWorld(t), nil)
		j.live(2, once("create 1", 1))
		c := j.open(nil)
		if n, err := c.Cleanup(t.Context(), 1); n != 1 || err != nil {
			t.Errorf("cleanup: %d, %v", n, err)
		}
		if j.record(1) != absent || j.record(0) != marked {
			t.Errorf("records: 0 %s, 1 %s", j.record(0), j.record(1))
		}
	})
}

// dieAt dies at a random step among the next ones.
func dieAt(r *rand.Rand, most int) func(string) bool {
	left := 1 + r.IntN(2*most) // before and after each
	return func(string) bool {
		left--
		return left == 0
	}
}

func TestRandomCrashesLeaveKeysAndLogInAgreement(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a repeatable choice of crash points
				j := newJob(newWorld(t), nil)
				for range 12 {
					steps := j.live(4, dieAt(r, 40))
					t.Logf("life %d: %q", j.lives, steps)
				}
				j.settle()
				if t.Failed() {
					t.Log(j.lines.with("level"))
				}
			})
		})
	}
}
