package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/examples/flights"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/worker"
)

// childEnv, with a childJob as JSON, makes the test binary a worker process that can be paused.
const childEnv = "TIDEMARK_WORKER_TEST_CHILD"

type childJob struct {
	Addr, Input, Output string
	Job                 events.JobID
	TTL                 time.Duration
	Rate                float64
}

// How a worker process ends.
const (
	exitFinished   = 0
	exitFailed     = 1
	exitSuperseded = 3
)

func childMain() int {
	err := childRun(context.Background())
	switch {
	case err == nil:
		return exitFinished
	case errors.Is(err, worker.ErrSuperseded):
		return exitSuperseded
	}
	fmt.Fprintln(os.Stderr, err)
	return exitFailed
}

func childRun(ctx context.Context) error {
	var j childJob
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &j); err != nil {
		return err
	}
	o := &goredis.UniversalOptions{Addrs: []string{j.Addr}}
	redislog.Tune(o)
	client := goredis.NewUniversalClient(o)
	defer func() { _ = client.Close() }()
	log, err := redislog.Open(redislog.Config{Job: j.Job, Client: client})
	if err != nil {
		return err
	}
	st, err := storeredis.NewJob(client, j.Job, storeredis.JobOptions{})
	if err != nil {
		return err
	}
	w, err := worker.New(j.config(log, st))
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

func (j childJob) config(log eventlog.Job, st *storeredis.Job) worker.Config {
	return worker.Config{
		Task: task, Log: log, Store: st, Mode: engine.Adopt, PresenceTTL: j.TTL,
		Build: func(worker.Start) (worker.Pipeline, error) {
			return flights.Job(flights.Config{Input: j.Input, Output: j.Output, Rate: j.Rate})
		},
	}
}

// spawn starts the job as a process of its own.
func (j childJob) spawn(t *testing.T) *exec.Cmd {
	t.Helper()
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// await reads the log from a position on until an event satisfies f, and returns the position of that event.
func await(t *testing.T, log eventlog.Reader, from events.Position, f func(events.Event) bool) events.Position {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for b, err := range log.Follow(ctx, from, eventlog.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			if e.Poison == nil && f(e.Envelope.Event) {
				return e.Position
			}
		}
	}
	t.Fatal("what was waited for did not come")
	return events.Position{}
}

func isA[E events.Event](e events.Event) bool { _, ok := e.(E); return ok }

// attemptOf is the attempt in whose name a worker says something; 0 if no worker does.
func attemptOf(e events.Event) events.Attempt {
	if e, ok := e.(*events.TaskAcked); ok {
		return e.Attempt
	}
	if e, ok := e.(*events.TaskDeclined); ok {
		return e.Attempt
	}
	if e, ok := e.(*events.TaskRestored); ok {
		return e.Attempt
	}
	if e, ok := e.(*events.TaskFinished); ok {
		return e.Attempt
	}
	return 0
}

// A process that is paused past its life, with SIGSTOP, and woken: if another has the task by then, it ends without another
// word; if not, it takes the task up again. The rows are right in both cases.
func TestAProcessThatStoodStill(t *testing.T) {
	redis := startRedis(t)
	input, answer := firstLines(t, 2000)
	for name, replaced := range map[string]bool{"and was replaced meanwhile": true, "and was only declared lost": false} {
		t.Run(name, func(t *testing.T) {
			j := childJob{
				Addr: redis.Addr(), Input: input, Output: filepath.Join(t.TempDir(), "out"), Job: events.JobID(fmt.Sprintf("paused-%t", replaced)),
				TTL: time.Second, Rate: 700,
			}
			c := coordinate(t, j.Addr, j.Job, coordinator.Config{
				Tasks: []events.TaskID{task}, Interval: 50 * time.Millisecond, PresenceTTL: j.TTL, LeaseTTL: 10 * time.Second, Retain: 2,
			})
			child := j.spawn(t)
			defer func() { _ = child.Process.Kill() }()
			at := await(t, c.log, events.Start, isA[*events.CheckpointCompleted])
			if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			at = await(t, c.log, at, isA[*events.TaskLost])
			var second *process
			if replaced {
				second = work(t, j.Addr, j.Job, j.config(nil, nil))
				at = await(t, c.log, at, func(e events.Event) bool { return isA[*events.TaskAcked](e) && attemptOf(e) == 2 })
			}
			if err := child.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			_ = child.Wait()
			want := exitFinished
			if replaced {
				want = exitSuperseded
				if <-second.done; second.err != nil {
					t.Fatalf("the replacement: %v", second.err)
				}
			}
			if got := child.ProcessState.ExitCode(); got != want {
				t.Errorf("the paused process ended with code %d, want %d", got, want)
			}
			await(t, c.log, at, func(e events.Event) bool {
				if attemptOf(e) == 1 {
					t.Errorf("the void attempt still said %+v", e)
				}
				return isA[*events.TaskFinished](e) && attemptOf(e) == 2
			})
			rows, err := flights.ReadRows(j.Output)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sortedDays(rows), answer) {
				t.Errorf("%d rows, want %d, or other ones", len(rows), len(answer))
			}
		})
	}
}
