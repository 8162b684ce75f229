package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store/storetest"
	"github.com/tidemark-stream/tidemark/worker"
)

// A coordinator that takes its time, a slow Build and a slow restore: the task is alive all the time, and says what it does.
func TestATaskIsAliveFromItsRegistrationOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		checkpointOf(s, 1)
		j := newJob()
		j.rows = rowsOf(t, 1)
		cfg := j.config()
		cfg.Build = func(start worker.Start) (worker.Pipeline, error) {
			time.Sleep(time.Minute)
			return j.build(start)
		}
		hang := s.faults.Add(storetest.Fault{Op: storetest.OpLoad, When: storetest.Hang})
		s.run(cfg)
		r := next[*events.TaskRegistered](s)
		alive := func(phase string) {
			t.Helper()
			for range 12 {
				time.Sleep(5 * time.Second)
				if p := s.presences()[task]; p.Instance != r.Instance || p.Phase != phase {
					t.Fatalf("%+v, want phase %s", p, phase)
				}
			}
		}
		alive("registering")
		s.give(r.Instance, 3)
		alive("restoring")
		alive("restoring")
		hang.Remove()
		next[*events.TaskRestored](s)
		time.Sleep(5 * time.Second)
		alive("running")
		close(j.feed.c)
		time.Sleep(5 * time.Second)
		alive("finishing")
	})
}

// lapse makes signs of life fail until the attempt ends.
func TestAnAttemptWhosePresenceLapsedStopsAndRegistersAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		first := j.spied()
		s.failing(memlog.OpBeat)
		began := time.Now()
		again := next[*events.TaskRegistered](s)
		if d := time.Since(began); d < 6*time.Second || d > 10*time.Second {
			t.Errorf("gave up %s after the last sign that arrived began to fail, want at most 10 s after the sign", d)
		}
		if again.Instance == r.admitted.Instance {
			t.Error("the same instance")
		}
		s.pend(2)
		time.Sleep(20 * time.Second)
		if _, _, cuts := first.told(); len(cuts) > 0 {
			t.Errorf("the attempt that lapsed has cut %v", cuts)
		}
		s.setFault(nil)
		s.give(again.Instance, events.NoCheckpoint)
		if restored := next[*events.TaskRestored](s); restored.Attempt != 2 {
			t.Errorf("restored %+v", restored)
		}
		if ack := next[*events.TaskAcked](s); ack.Attempt != 2 {
			t.Errorf("acked %+v", ack)
		}
		if r.ended() {
			t.Error(r.err)
		}
	})
}

// A call that hangs must not make the attempt overlive its sign of life.
func TestASignOfLifeThatHangsIsNoSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.setFault(func(ctx context.Context, op memlog.Op) memlog.Outcome {
			if op != memlog.OpBeat {
				return memlog.Outcome{}
			}
			<-ctx.Done()
			return memlog.Refuse(context.Cause(ctx))
		})
		began := time.Now()
		next[*events.TaskRegistered](s)
		if d := time.Since(began); d > 20*time.Second { // 10 s for the attempt, 10 s for the first sign of the next
			t.Errorf("registered anew after %s", d)
		}
	})
}

func TestAnAttemptThatTheCoordinatorDeclaredLostRegistersAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		s.assign(eventlog.Assignment{Instance: r.admitted.Instance, Attempt: 1, Restore: events.NoCheckpoint, Phase: "lost"})
		s.admit(events.NoCheckpoint)
		if restored := next[*events.TaskRestored](s); restored.Attempt != 2 {
			t.Errorf("restored %+v", restored)
		}
	})
}

// The assignment is gone, or older than ours: the log has lost our registration, and nobody would wait for us.
func TestAWorkerThatTheLogHasForgottenRegistersAnew(t *testing.T) {
	for name, lose := range map[string]func(s *stage){
		"everything was flushed": func(s *stage) { s.log.Flush(); s.term = nil; s.at = events.Start },
		"an older assignment is back": func(s *stage) {
			s.attempts = 1
			s.assign(eventlog.Assignment{Instance: "older", Attempt: 1, Restore: events.NoCheckpoint, Phase: "lost"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.attempts = 1
				j := newJob()
				s.start(j.config()) // in attempt 2
				lose(s)
				s.lead("boss-2")
				s.write()
				r := next[*events.TaskRegistered](s)
				s.attempts = 2
				s.give(r.Instance, events.NoCheckpoint)
				next[*events.TaskRestored](s)
				s.pend(0) // ids begin anew as well
				if ack := next[*events.TaskAcked](s); ack.Checkpoint != 0 || ack.Attempt != 3 {
					t.Errorf("acked %+v", ack)
				}
			})
		})
	}
}

// supersede gives the task to another instance that is alive.
func (s *stage) supersede() {
	s.Helper()
	a := s.give("another", events.NoCheckpoint)
	s.must(s.log.Beat(s.Context(), task, eventlog.Presence{Instance: "another", Attempt: a, Phase: "running"}, time.Hour))
}

func TestAWorkerThatIsSupersededEndsWithoutAnotherWord(t *testing.T) {
	tests := map[string]func(s *stage){
		"it learns of it by the control feed": func(s *stage) { s.supersede() },
		"it learns of it by its sign of life": func(s *stage) {
			s.failing(memlog.OpLatestControl, memlog.OpAssignment)
			s.supersede()
			time.Sleep(10 * time.Second)
		},
		"it lapses first, and looks around": func(s *stage) {
			s.failing(memlog.OpLatestControl, memlog.OpBeat)
			time.Sleep(5 * time.Second)
			s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
				if op == memlog.OpLatestControl || op == memlog.OpPublish {
					return memlog.Lost(op)
				}
				return memlog.Outcome{}
			})
			s.supersede()
			s.failing(memlog.OpLatestControl, memlog.OpBeat)
			time.Sleep(10 * time.Second)
			s.setFault(nil)
		},
		"the attempt is another's": func(s *stage) { // two logs that grew apart in a failover
			s.attempts = 0
			s.supersede()
		},
	}
	for name, supersede := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				j := newJob()
				r := s.start(j.config())
				hang := s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang})
				s.pend(2, 3)
				<-hang.Entered()
				synctest.Wait()
				before := s.words()
				supersede(s)
				err := r.wait()
				if !errors.Is(err, worker.ErrSuperseded) {
					t.Fatal(err)
				}
				if after := s.words(); after != before {
					t.Errorf("%d more words in the log", after-before)
				}
				if p := s.presences()[task]; p.Instance != "another" {
					t.Errorf("the other's presence is %+v", p)
				}
				hang.Remove()
			})
		})
	}
}

// words is how many entries the log has.
func (s *stage) words() (n int) {
	s.Helper()
	for b, err := range s.log.Read(s.Context(), events.Start, events.End) {
		s.must(err)
		n += len(b.Entries)
	}
	return n
}

// Two processes register for one task: the later one has it, the earlier one does not wait for ever.
func TestTheEarlierOfTwoRegistrationsIsSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		a := s.run(newJob().config())
		first := next[*events.TaskRegistered](s)
		s.attempts = 1 // of the first, which it never gets to see
		b := s.run(newJob().config())
		second := next[*events.TaskRegistered](s)
		s.give(second.Instance, events.NoCheckpoint)
		next[*events.TaskRestored](s)
		time.Sleep(time.Second)
		s.write()
		if err := a.wait(); !errors.Is(err, worker.ErrSuperseded) || !strings.Contains(err.Error(), second.Instance.String()) {
			t.Errorf("first %s: %v", first.Instance, err)
		}
		if b.ended() {
			t.Error(b.err)
		}
	})
}

// A coordinator of another policy does not expect the task; the next one does.
func TestARegistrationThatWasRefusedIsRepeatedWithTheNextCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.write()
		r := s.run(newJob().config())
		refused := next[*events.TaskRegistered](s)
		s.write()
		time.Sleep(time.Minute)
		s.lead("boss-2")
		s.write()
		if again := s.admit(events.NoCheckpoint); again.Instance == refused.Instance {
			t.Error("the same instance again")
		}
		next[*events.TaskRestored](s)
		if r.ended() {
			t.Error(r.err)
		}
	})
}

// The coordinator restarts, and the connection is lost for a while: nothing is given up.
func TestANewCoordinatorChangesNothingForAHealthyWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		s.pend(2)
		next[*events.TaskAcked](s)
		s.failing(memlog.OpLatestControl, memlog.OpPublish, memlog.OpAssignment, memlog.OpBeat)
		time.Sleep(5 * time.Second)
		s.setFault(nil)
		s.lead("boss-2") // 2 has failed: coordinator_changed
		s.pend()
		synctest.Wait()
		s.control.Pending = []eventlog.PendingCheckpoint{
			{ID: 1, Epoch: 1, Type: events.TypeCheckpoint}, // of a state that a failover brought back
			{ID: 2, Epoch: s.term.Epoch(), Type: events.TypeCheckpoint},
		}
		s.write() // the new log has lost 2 and gives the id again
		ack := next[*events.TaskAcked](s)
		if ack.Checkpoint != 2 || ack.Epoch != s.term.Epoch() || ack.Attempt != 1 {
			t.Errorf("acked %+v", ack)
		}
		s.complete(ack)
		synctest.Wait()
		completed, failed, cuts := j.spied().told()
		if len(completed) != 1 || completed[0] != 2 || len(failed) != 1 || failed[0] != 2 || len(cuts) != 2 {
			t.Errorf("completed %v, failed %v, cuts %v", completed, failed, cuts)
		}
		if r.ended() {
			t.Error(r.err)
		}
	})
}

func TestAFunctionThatFailsEndsTheWorkerWithOperatorAndPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		j.each = func(v int) error {
			if v == 13 {
				panic("thirteen")
			}
			return nil
		}
		r := s.start(j.config())
		j.feed.c <- 1
		j.feed.c <- 13
		err := r.wait()
		var op *engine.OperatorError
		if !errors.As(err, &op) || op.Operator != "map-1" || op.Source != "source-1" || op.Record != 2 || op.Offset != 1 {
			t.Error(err)
		}
		if !strings.Contains(err.Error(), "task task-0, attempt 1: map-1: map function failed at record 2 of source-1 (offset 1): panic: thirteen") {
			t.Error(err)
		}
		if p := s.presences(); len(p) > 0 {
			t.Errorf("still alive: %v", p)
		}
	})
}

func TestABuildThatFailsEndsTheWorker(t *testing.T) {
	for name, build := range map[string]func(worker.Start) (worker.Pipeline, error){
		"an error":    func(worker.Start) (worker.Pipeline, error) { return nil, errStubborn },
		"no pipeline": func(worker.Start) (worker.Pipeline, error) { return nil, nil }, //nolint:nilnil // the mistake under test
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				r := s.run(worker.Config{Build: build})
				s.admit(events.NoCheckpoint)
				if err := r.wait(); err == nil || !strings.Contains(err.Error(), "build the pipeline of task task-0") {
					t.Error(err)
				}
				if p := s.presences(); len(p) > 0 {
					t.Errorf("still alive: %v", p)
				}
			})
		})
	}
}
