package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
)

// said keeps the lines of a worker's log.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// messages are the lines' messages, in order.
func (s *said) messages(t *testing.T) (list []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.b.String()) {
		var l struct{ Message string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l.Message)
	}
	return list
}

func TestAShutdownIsLogged(t *testing.T) {
	for name, admit := range map[string]bool{"while it waits for the coordinator": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				var out said
				cfg := newJob().config()
				cfg.Logger = zerolog.New(&out)
				r := s.run(cfg)
				if admit {
					s.admit(events.NoCheckpoint)
					next[*events.TaskRestored](s)
				}
				synctest.Wait()
				r.cancel(errShutdown)
				if err := r.wait(); err != nil {
					t.Error(err)
				}
				got := out.messages(t)
				if n := len(got); n < 2 || got[n-1] != "stopped" || !slices.Contains(got[:n-1], "stopping") {
					t.Errorf("said %q", got)
				}
			})
		})
	}
}

func TestAWorkerThatEndsByItselfDoesNotSayThatItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		j := newJob()
		cfg := j.config()
		cfg.Logger = zerolog.New(&out)
		r := s.start(cfg)
		close(j.feed.c)
		next[*events.CheckpointRequested](s)
		s.pend(0)
		s.complete(next[*events.TaskAcked](s))
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if got := out.messages(t); slices.Contains(got, "stopping") || slices.Contains(got, "stopped") {
			t.Errorf("said %q", got)
		}
	})
}

// The coordinator writes the assignment a moment after the state that has the registration in it; that is no reason to
// doubt that it expects the task. Silence is.
func TestOnlyARegistrationThatStaysUnansweredIsDoubted(t *testing.T) {
	const doubt = "the coordinator has read the registration and assigned nothing yet; does it expect this task?"
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		cfg := newJob().config()
		cfg.Logger = zerolog.New(&out)
		s.run(cfg)
		reg := next[*events.TaskRegistered](s)
		for _, wait := range []time.Duration{0, 8 * time.Millisecond, time.Second} {
			time.Sleep(wait)
			s.write()
			synctest.Wait()
		}
		if got := out.messages(t); slices.Contains(got, doubt) {
			t.Errorf("doubted after a second: %q", got)
		}
		time.Sleep(10 * time.Second)
		s.write()
		s.write()
		synctest.Wait()
		got := out.messages(t)
		if got = slices.DeleteFunc(got, func(m string) bool { return m != doubt }); len(got) != 1 {
			t.Errorf("doubted %d times in 11 seconds", len(got))
		}
		s.give(reg.Instance, events.NoCheckpoint)
		next[*events.TaskRestored](s)
	})
}

// A state that an earlier coordinator has left is no sign of one that leads.
func TestAWorkerThatNobodyAnswersSaysOnceWhatIsMissing(t *testing.T) {
	const grace = 5 * time.Second
	for name, tt := range map[string]struct {
		left    bool
		count   int
		command string
	}{
		"a new job":               {false, 3, "coordinator serve --job job --tasks 3"},
		"what a coordinator left": {true, 3, "coordinator serve --job job --tasks 3"},
		"no number of shares":     {false, 0, "coordinator serve --job job --tasks <number of tasks>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				if tt.left {
					s.write()
				}
				var out said
				cfg := newJob().config()
				cfg.Count, cfg.Logger = tt.count, zerolog.New(&out).Level(zerolog.WarnLevel)
				r := s.run(cfg)
				time.Sleep(grace - time.Millisecond)
				synctest.Wait()
				if got := out.messages(t); len(got) > 0 {
					t.Errorf("said %q before %s", got, grace)
				}
				time.Sleep(time.Hour)
				want := []string{"nobody seems to lead job job; start a coordinator: " + tt.command}
				if got := out.messages(t); !slices.Equal(got, want) || r.ended() {
					t.Errorf("said %q, want %q", got, want)
				}
				s.admit(events.NoCheckpoint)
				next[*events.TaskRestored](s)
			})
		})
	}
}

func TestAWorkerThatACoordinatorHasHeardDoesNotMissOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		cfg := newJob().config()
		cfg.Logger = zerolog.New(&out)
		s.run(cfg)
		reg := next[*events.TaskRegistered](s)
		s.write()
		time.Sleep(time.Minute) // the restore point lands late
		s.give(reg.Instance, events.NoCheckpoint)
		next[*events.TaskRestored](s)
		if got := out.messages(t); slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, "nobody seems to lead") }) {
			t.Errorf("said %q", got)
		}
	})
}

// Nobody leads: one request stands in the log until somebody does, however long that takes.
func TestALastCheckpointIsAskedForOnceUntilTheCoordinatorShowsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		close(j.feed.c)
		first := next[*events.CheckpointRequested](s)
		time.Sleep(10 * time.Minute)
		if n := count[*events.CheckpointRequested](s); n != 1 {
			t.Errorf("asked %d times while nobody leads", n)
		}
		s.lead("boss-2")
		s.write() // it refuses
		second := next[*events.CheckpointRequested](s)
		if second.Request == first.Request {
			t.Error("the same request, which is answered already")
		}
		time.Sleep(10 * time.Minute)
		if n := count[*events.CheckpointRequested](s); n != 2 {
			t.Errorf("asked %d times of two coordinators", n)
		}
	})
}

// A request that may not have arrived is said again, and is the same one.
func TestALastRequestThatMayBeLostIsSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
			if op == memlog.OpPublish {
				return memlog.Hidden(op)
			}
			return memlog.Outcome{}
		})
		close(j.feed.c)
		time.Sleep(12 * time.Second)
		s.setFault(nil)
		time.Sleep(time.Minute)
		first := next[*events.CheckpointRequested](s)
		n := count[*events.CheckpointRequested](s)
		if n < 2 {
			t.Errorf("said %d times", n)
		}
		for range n - 1 {
			if again := next[*events.CheckpointRequested](s); again.Request != first.Request {
				t.Errorf("asked anew: %s after %s", again.Request, first.Request)
			}
		}
	})
}

// What status shows of a task that has finished is all that it did.
func TestTheLastSignOfLifeHasTheFinalProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		cfg := j.config()
		cfg.PresenceTTL = time.Hour // no other sign of life comes meanwhile
		r := s.start(cfg)
		for i := range 7 {
			j.feed.c <- i
		}
		close(j.feed.c)
		next[*events.CheckpointRequested](s)
		s.pend(0)
		s.complete(next[*events.TaskAcked](s))
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		var shown struct {
			In  int64 `json:"records_in"`
			Out int64 `json:"records_out"`
		}
		p := s.presences()[task]
		if err := json.Unmarshal(p.Progress, &shown); err != nil || shown.In != 7 || shown.Out != 7 || p.Phase != "finishing" {
			t.Errorf("%+v: %s, %v", p, p.Progress, err)
		}
	})
}
