package worker_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/worker"
)

// flightJob is the flight job on three workers and a coordinator, on a real Redis.
type flightJob struct {
	*testing.T
	redis *testredis.Server
	id    events.JobID
	input string
	dir   string
	rate  float64
	ttl   time.Duration

	coordinator *process
	workers     [3]*process
	story       story
}

// story is what everybody logged; it is shown when the test fails.
type story struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (j *flightJob) logger(who string) zerolog.Logger {
	return zerolog.New(&j.story).With().Timestamp().Str("who", who).Logger()
}

// tell shows the story if the test has failed.
func (j *flightJob) tell() {
	if !j.Failed() {
		return
	}
	j.story.mu.Lock()
	defer j.story.mu.Unlock()
	text := j.story.text.Bytes()
	j.Logf("the end of the story:\n%s", text[max(0, len(text)-60_000):])
}

var flightTasks = []events.TaskID{"task-0", "task-1", "task-2"}

func (j *flightJob) output(i int) string { return filepath.Join(j.dir, fmt.Sprintf("out-%d.jsonl", i)) }

func (j *flightJob) startCoordinator() {
	j.coordinator = coordinate(j.T, j.redis.Addr(), j.id, coordinator.Config{
		Tasks: flightTasks, Interval: 30 * time.Millisecond, Retain: 2, Timeout: 5 * time.Second,
		LeaseTTL: j.ttl, PresenceTTL: j.ttl, Logger: j.logger("coordinator"),
	})
}

func (j *flightJob) startWorker(i int) {
	j.workers[i] = work(j.T, j.redis.Addr(), j.id, worker.Config{
		Task: flightTasks[i], Index: i, Count: 3, Mode: engine.Adopt, PresenceTTL: j.ttl, Uploads: 2, Logger: j.logger("worker"),
		Build: func(s worker.Start) (worker.Pipeline, error) {
			return flights.Job(flights.Config{Input: j.input, Output: j.output(s.Index), Index: s.Index, Count: s.Count, Rate: j.rate})
		},
	})
}

func (j *flightJob) start() {
	j.Cleanup(j.tell)
	j.startCoordinator()
	for i := range j.workers {
		j.startWorker(i)
	}
}

// rows waits until all workers have finished, and reads what they have written.
func (j *flightJob) rows() []flights.Day {
	j.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for i, w := range j.workers {
		select {
		case <-w.done:
		case <-late.C:
			j.Fatalf("worker %d has not finished", i)
		}
		if w.err != nil {
			j.Fatalf("worker %d: %v", i, w.err)
		}
	}
	rows, err := flights.ReadRows(j.output(0), j.output(1), j.output(2))
	if err != nil {
		j.Fatal(err)
	}
	if files, _ := os.ReadDir(j.dir); len(files) != 3 {
		j.Errorf("left behind: %v", files)
	}
	return rows
}

func TestTheFlightJobGivesTheRightAnswer(t *testing.T) {
	j := &flightJob{T: t, redis: startRedis(t), id: "flights", dir: t.TempDir(), ttl: 5 * time.Second, rate: 10_000}
	j.input = filepath.Join(t.TempDir(), "flights.jsonl.gz")
	if err := flights.WriteInput(j.input); err != nil {
		t.Fatal(err)
	}
	j.start()
	rows := j.rows()
	if err := flights.Check(rows); err != nil {
		t.Error(err)
	}
	n := int64(0)
	for _, r := range rows {
		n += r.Flights
	}
	if len(rows) != 6901 || n != flights.Lines {
		t.Errorf("%d rows of %d flights", len(rows), n)
	}
	completed := 0
	for b, err := range j.coordinator.log.Read(t.Context(), events.Start, events.End) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			if _, ok := e.Envelope.Event.(*events.CheckpointCompleted); ok {
				completed++
			}
			if _, ok := e.Envelope.Event.(*events.TaskDeclined); ok {
				t.Errorf("declined: %+v", e.Envelope.Event)
			}
		}
	}
	if completed < 5 {
		t.Errorf("only %d checkpoints completed while the job ran", completed)
	}
	t.Logf("%d checkpoints completed", completed)
}

// firstLines writes the first lines of the data set to a file and gives the answer of one undisturbed task.
func firstLines(t *testing.T, n int) (path string, answer []flights.Day) {
	t.Helper()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	if err := flights.WriteInput(whole); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "flights.jsonl")
	lines := bytes.SplitAfterN(text, []byte("\n"), n+1)
	if err := os.WriteFile(path, bytes.Join(lines[:n], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "answer")
	p, err := flights.Job(flights.Config{Input: path, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Run(t.Context()), p.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	if answer, err = flights.ReadRows(out); err != nil {
		t.Fatal(err)
	}
	return path, sortedDays(answer)
}

func sortedDays(days []flights.Day) []flights.Day {
	slices.SortFunc(days, func(a, b flights.Day) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Start, b.Start))
	})
	return days
}

var (
	firstSeed = flag.Int("first-seed", 0, "first seed of the test of kills")
	seedCount = flag.Int("seeds", 8, "how many seeds the test of kills runs, about 5 s each")
)

// Whatever dies or loses its connection, and when: every row comes out once.
func TestTheFlightJobGivesTheRightAnswerWhateverIsKilled(t *testing.T) {
	redis := startRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	input, answer := firstLines(t, 2000)
	seeds := *seedCount
	if testing.Short() {
		seeds = min(seeds, 3)
	}
	for seed := *firstSeed; seed < *firstSeed+seeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			j := &flightJob{
				T: t, redis: redis, id: events.JobID(fmt.Sprintf("job-%d", seed)), dir: t.TempDir(), input: input,
				ttl: 600 * time.Millisecond, rate: 2000,
			}
			j.start()
			j.torment(rand.New(rand.NewPCG(uint64(seed), 7)))
			if rows := sortedDays(j.rows()); !slices.Equal(rows, answer) {
				t.Errorf("%d rows, want %d, or other ones", len(rows), len(answer))
			}
		})
	}
}

// torment does harm at random moments, for about as long as the job needs.
func (j *flightJob) torment(r *rand.Rand) {
	for range 4 + r.IntN(5) {
		pause := time.NewTimer(time.Duration(r.IntN(400)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-j.Context().Done():
			return
		}
		i := r.IntN(3)
		what := r.IntN(13)
		switch {
		case what < 5: // SIGKILL, and started again
			if !j.workers[i].ended() {
				j.workers[i].kill()
				j.startWorker(i)
			}
		case what < 7: // SIGTERM, and started again
			if !j.workers[i].ended() {
				j.workers[i].cancel(errShutdown)
				j.startWorker(i)
			}
		case what < 9:
			j.workers[i].disconnect()
		case what < 11:
			j.coordinator.kill()
			j.startCoordinator()
		default:
			j.redis.Restart()
		}
	}
}
