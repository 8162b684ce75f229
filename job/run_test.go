package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/job"
	"github.com/tidemark-stream/tidemark/worker"
)

func TestAJobGoesOnWhereItWasEndedAndItsOutputIsExact(t *testing.T) {
	for name, fresh := range map[string]bool{"from the restore point": false, "from the beginning": true} {
		t.Run(name, func(t *testing.T) { endAndGoOn(t, fresh) })
	}
}

// endAndGoOn ends a run by its context in the middle, on a client of its own, and goes on by address.
func endAndGoOn(t *testing.T, fresh bool) {
	const last = 20_000
	server, output := testredis.Start(t), filepath.Join(t.TempDir(), "sums.jsonl")
	client, c := onRedis(t, server, "task-1")
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()

	ended := make(chan error, 1) // sent once by the first run
	var records atomic.Int64
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ended <- job.Run(first, job.Config{Job: counted(output, last, 1000, &records), Client: client})
	}()
	awaitCheckpoint(t, c, &records)
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("ended by its context: %v", err)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		t.Errorf("the caller's client: %v", err)
	}

	records.Store(0)
	var shares []job.Share
	again := counted(output, last, 0, &records)
	build := again.Build
	again.Build = func(s job.Share) (*engine.Graph, error) {
		shares = append(shares, s)
		return build(s)
	}
	if err := job.Run(ctx, job.Config{Job: again, Redis: server.URL(), Fresh: fresh}); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, output), answer(job.Share{Count: 1}, last); got != want {
		t.Errorf("%d bytes of output, want %d: %s", len(got), len(want), cmp.Diff(want, got))
	}
	if all := records.Load() == last; all != fresh {
		t.Errorf("%d of %d records were read again", records.Load(), last)
	}
	if len(shares) != 2 {
		t.Fatalf("built for %+v, want a try and one attempt", shares)
	}
	want := []job.Share{
		{Job: "sums", Task: "task-1", Count: 1, Restore: events.NoCheckpoint},
		{Job: "sums", Task: "task-1", Count: 1, Attempt: 2, Restore: shares[1].Restore},
	}
	if diff := cmp.Diff(want, shares); diff != "" || shares[1].Restore == events.NoCheckpoint {
		t.Errorf("built for %+v: %s", shares, diff)
	}
}

func TestThreeSharesInOneProcessShareTheKeys(t *testing.T) {
	const last, count = 200, 3
	log, records := inMemory(t, "task-1", "task-2", "task-3")
	dir := t.TempDir()
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	ended := make(chan error, count) // sent once by each run
	for i := range count {
		cfg := job.Config{Job: sums(dir, last, 0), Index: i, Count: count, Log: log, Store: records}
		go func() { ended <- job.Run(ctx, cfg) }()
	}
	if err := errors.Join(<-ended, <-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	for i, task := range []string{"task-1", "task-2", "task-3"} {
		if diff := cmp.Diff(answer(job.Share{Index: i, Count: count}, last), read(t, dir, task+".jsonl")); diff != "" {
			t.Errorf("%s: %s", task, diff)
		}
	}
}

func TestTheParallelismIsThatOfTheConfiguration(t *testing.T) {
	const last = 200
	log, records := inMemory(t, "task-1")
	cfg := job.Config{Job: sums(t.TempDir()+"/sums.jsonl", last, 0), Log: log, Store: records, Parallelism: 1000}
	if err := job.Run(t.Context(), cfg); !errors.Is(err, engine.ErrInvalid) || !errors.Is(err, job.ErrUsage) {
		t.Errorf("more subtasks than key groups: %v", err)
	}
	output := filepath.Join(t.TempDir(), "sums.jsonl")
	cfg.Job, cfg.Parallelism = sums(output, last, 0), 4
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	if err := job.Run(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	got, want := strings.Fields(read(t, output)), strings.Fields(answer(job.Share{Count: 1}, last))
	slices.Sort(got) // subtasks keep the order of each key only
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherNumberOfSharesIsRefused(t *testing.T) {
	log, records := inMemory(t, "task-1", "task-2")
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	err := job.Run(ctx, job.Config{Job: sums(t.TempDir(), 1, 0), Log: log, Store: records})
	if !errors.Is(err, worker.ErrShare) {
		t.Errorf("got %v, want ErrShare", err)
	}
}

func TestAnImpossibleConfigurationIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	log := memlog.New(memlog.Config{Job: "other"})
	_, records := inMemory(t, "task-1")
	hasty := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = hasty.Close() }()
	for says, change := range map[string]func(*job.Config){
		"make it with redislog.Tune":          func(c *job.Config) { c.Client = hasty },
		"index 3 is not within 0 to 2":        func(c *job.Config) { c.Index, c.Count = 3, 3 },
		"index -1 is not within 0 to 0":       func(c *job.Config) { c.Index = -1 },
		"count -1 is not within 1 to 100000":  func(c *job.Config) { c.Count = -1 },
		"count 100001 is not within":          func(c *job.Config) { c.Count = 100_001 },
		"parallelism -1 is negative":          func(c *job.Config) { c.Parallelism = -1 },
		"Build is needed":                     func(c *job.Config) { c.Job.Build = nil },
		"Name":                                func(c *job.Config) { c.Job.Name = "a/b" },
		"of Log and Store there must be both": func(c *job.Config) { c.Log = log },
		"the log is that of job other":        func(c *job.Config) { c.Log, c.Store = log, records },
	} {
		cfg := job.Config{Job: sums(t.TempDir(), 1, 0)}
		cfg.Job.Open = func(context.Context, job.Share) (func() error, error) {
			t.Errorf("%s: the job is opened", says)
			return nil, nil
		}
		change(&cfg)
		if err := job.Run(t.Context(), cfg); !errors.Is(err, job.ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want ErrUsage with %q", err, says)
		}
	}
	log2, records2 := inMemory(t, "task-1")
	cfg := job.Config{Job: sums(t.TempDir(), 1, 0), Log: log2, Store: records2, CutTimeout: -1}
	if err := job.Run(t.Context(), cfg); !errors.Is(err, job.ErrUsage) {
		t.Errorf("a negative time: %v", err)
	}
}

func TestWhatIsWrongWithTheGraphIsSaidBeforeRedisIsAskedFor(t *testing.T) {
	closed := 0
	open := func(context.Context, job.Share) (func() error, error) {
		return func() error { closed++; return errors.New("closing") }, nil
	}
	bounded := func(bound time.Duration) func(job.Share) (*engine.Graph, error) {
		return func(job.Share) (*engine.Graph, error) {
			g := engine.New(engine.Config{})
			timed := engine.EventTime(engine.From(g, engine.Slice([]int64{1})), func(n int64) int64 { return n }, engine.Bounded(bound))
			engine.ToRows(timed, &engine.Rows[int64]{})
			return g, nil
		}
	}
	for says, tt := range map[string]struct {
		usage bool
		build func(job.Share) (*engine.Graph, error)
	}{
		"no sink": {true, func(job.Share) (*engine.Graph, error) { return engine.New(engine.Config{}), nil }},
		"no graph": {true, func(job.Share) (*engine.Graph, error) {
			return nil, nil //nolint:nilnil // the mistake
		}},
		"-5s":            {true, bounded(-5 * time.Second)},
		"not positive":   {true, func(job.Share) (*engine.Graph, error) { return nil, fmt.Errorf("not positive: %w", engine.ErrInvalid) }},
		"not today":      {true, func(job.Share) (*engine.Graph, error) { return nil, job.Usagef("not today") }},
		"disk":           {false, func(job.Share) (*engine.Graph, error) { return nil, errors.New("no room on disk") }},
		"reach redis at": {false, bounded(time.Second)},
	} {
		closed = 0
		err := job.Run(t.Context(), job.Config{Redis: "redis://127.0.0.1:1", Job: job.Job{Name: "sums", Open: open, Build: tt.build}})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "closing") {
			t.Errorf("got %v, want %q and the error of closing", err, says)
		}
		if errors.Is(err, job.ErrUsage) != tt.usage {
			t.Errorf("%v: a wrong call is %v", err, tt.usage)
		}
		if closed != 1 {
			t.Errorf("%s: closed %d times", says, closed)
		}
	}
}

func TestARunSaysWhatItDoes(t *testing.T) {
	log, records := inMemory(t, "task-1")
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	var out bytes.Buffer
	cfg := job.Config{Job: sums(t.TempDir(), 1, 0), Log: log, Store: records, Logger: zerolog.New(zerolog.SyncWriter(&out))}
	if err := job.Run(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"job":"sums","task":"task-1"`) || !strings.Contains(out.String(), "registered") {
		t.Errorf("it logged %s", out.String())
	}
}
