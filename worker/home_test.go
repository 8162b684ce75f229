package worker_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
)

// finished makes the task one that has finished in an earlier run.
func (s *stage) finished() {
	s.Helper()
	s.attempts++
	s.assign(eventlog.Assignment{Instance: "worker-before", Attempt: s.attempts, Restore: events.NoCheckpoint, Phase: "finished"})
}

func TestAWorkerWhoseTaskHasFinishedGoesHomeBeforeItRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.finished()
		var out said
		cfg := newJob().config()
		cfg.Logger = zerolog.New(&out)
		s.failing(memlog.OpAssignment)
		r := s.run(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		if r.ended() || count[*events.TaskRegistered](s) > 0 {
			t.Fatalf("ended %t while the log could not say", r.ended())
		}
		s.setFault(nil)
		time.Sleep(time.Minute)
		if !r.ended() || r.err != nil {
			t.Fatalf("ended %t: %v", r.ended(), r.err)
		}
		if n := count[*events.TaskRegistered](s); n > 0 || len(s.presences()) > 0 {
			t.Errorf("registered %d times, signs of life %v", n, s.presences())
		}
		if got := out.messages(t); !slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, "has finished in an earlier run") }) {
			t.Errorf("said %q", got)
		}
	})
}

func TestAWorkerThatWaitsToKnowWhetherItsTaskHasFinishedCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.failing(memlog.OpAssignment)
		r := s.run(newJob().config())
		time.Sleep(time.Minute)
		r.cancel(errShutdown)
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}

// Finished is what the task of another run was, or of another number of shares: registering tells what is right.
func TestAFinishedTaskIsTakenUpAgain(t *testing.T) {
	t.Run("when it is to read everything again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.finished()
			cfg := newJob().config()
			cfg.Mode = engine.Fresh
			s.start(cfg)
		})
	})
	t.Run("by another number of shares, which is refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.control.Expected = 2
			s.finished()
			r := s.run(newJob().shared())
			next[*events.TaskRegistered](s)
			s.write()
			wantShare(t, r.wait(), "the coordinator expects 2 tasks")
		})
	})
}
