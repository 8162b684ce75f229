package worker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/worker"
)

// shared is the job as the second share of three.
func (j *job) shared() worker.Config {
	cfg := j.config()
	cfg.Index, cfg.Count = 1, 3
	return cfg
}

func wantShare(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, worker.ErrShare) || !strings.Contains(err.Error(), text) {
		t.Errorf("ended with %v, want %q", err, text)
	}
}

// Two tasks are expected, and the workers share the input in three: a third of it would be missing at the end.
func TestAWorkerOfAnotherNumberOfSharesProcessesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTeam(t)
		m.tasks = m.tasks[:2]
		m.lead(0)
		for i, id := range []events.TaskID{"task-0", "task-2"} { // expected, and not
			j := newJob()
			cfg := j.config()
			cfg.Task, cfg.Index, cfg.Count = id, 2*i, 3
			err := m.run(cfg).wait()
			if i == 0 {
				wantShare(t, err, "this worker has share 1 of 3, but the coordinator expects 2 tasks; "+
					"start it with --task i/2 or the coordinator with --tasks 3")
			} else {
				wantShare(t, err, "this worker has share 3 of 3, but")
			}
			if j.spied() != nil {
				t.Error("the pipeline was built")
			}
		}
		if n := count[*events.TaskRestored](m.stage); n > 0 {
			t.Errorf("%d tasks have been restored", n)
		}
	})
}

func TestSharesThatMatchOrAreNotToldRun(t *testing.T) {
	for name, tt := range map[string]struct{ count, expected int }{
		"as many":                             {3, 3},
		"the coordinator counts any acks":     {3, 0},
		"the worker was told no number":       {0, 2},
		"one, told":                           {1, 1},
		"what no coordinator should announce": {3, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.control.Expected = tt.expected
				cfg := newJob().config()
				cfg.Count = tt.count
				r := s.start(cfg)
				s.write()
				time.Sleep(20 * time.Second)
				if r.ended() {
					t.Error(r.err)
				}
			})
		})
	}
}

// The state that a coordinator of another number has left says nothing about the one that leads now.
func TestTheStateOfACoordinatorThatIsGoneIsNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.control.Expected = 2
		s.write()
		r := s.run(newJob().shared())
		reg := next[*events.TaskRegistered](s)
		time.Sleep(time.Minute)
		if r.ended() {
			t.Fatal(r.err)
		}
		s.lead("boss-2")
		s.control.Expected = 3
		s.give(reg.Instance, events.NoCheckpoint)
		next[*events.TaskRestored](s)
		s.lead("boss-3") // somebody changes the number while the task runs
		s.control.Expected = 1
		s.pend(7)
		wantShare(t, r.wait(), "share 2 of 3, but the coordinator expects 1 task; start it with --task i/1 or")
		if no := next[*events.TaskDeclined](s); no.Checkpoint != 7 {
			t.Errorf("declined %+v", no)
		}
		if p := s.presences(); len(p) > 0 {
			t.Errorf("still alive: %v", p)
		}
	})
}

func TestACoordinatorSaysHowManyTasksItExpects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cfg := range []coordinator.Config{
			{Tasks: []events.TaskID{"task-0", "task-1"}}, {RequiredAcks: 3},
		} {
			m := newTeam(t)
			cfg.Job, cfg.Log, cfg.Store = "team", m.log, m.store
			c, err := coordinator.Open(t.Context(), cfg)
			m.must(err)
			synctest.Wait()
			control, ok, err := m.log.LatestControl(t.Context())
			if err != nil || !ok || control.Expected != len(cfg.Tasks) {
				t.Errorf("control %+v, %t, %v", control, ok, err)
			}
			m.must(c.Close())
		}
	})
}
