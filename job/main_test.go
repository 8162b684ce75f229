package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/job"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// patience is how long a test waits for anything; the machine may be busy.
const patience = time.Minute

// quiet drops what the client says of servers that are not there.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	goleak.VerifyTestMain(m)
}

// sums is a job of ten lines: the running sum of the numbers of its share, by their last digit, into a file.
func sums(output string, last int, perSecond float64) job.Job {
	return counted(output, last, perSecond, new(atomic.Int64))
}

// counted is sums, and counts the records that it reads.
func counted(output string, last int, perSecond float64, records *atomic.Int64) job.Job {
	return job.Job{Name: "sums", Build: func(s job.Share) (*engine.Graph, error) {
		path, err := s.File(output)
		if err != nil {
			return nil, err
		}
		g := engine.New(engine.Config{})
		mine := engine.Filter(engine.From(g, engine.Throttle(engine.Slice(upTo(last)), perSecond)), func(n int) bool {
			records.Add(1)
			return s.Owns(digit(n))
		})
		engine.ToFile(engine.Reduce(engine.KeyBy(mine, digit), func(a, b int) int { return a + b }), path, engine.JSONRow[int])
		return g, nil
	}}
}

func upTo(last int) (all []int) {
	for n := range last {
		all = append(all, n+1)
	}
	return all
}

func digit(n int) string { return fmt.Sprint(n % 10) }

// answer is the right output of a share.
func answer(s job.Share, last int) string {
	var b strings.Builder
	sum := map[string]int{}
	for _, n := range upTo(last) {
		if d := digit(n); s.Owns(d) {
			sum[d] += n
			fmt.Fprintln(&b, sum[d])
		}
	}
	return b.String()
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// inMemory is a log and a store of the job sums in memory, and a coordinator on them.
func inMemory(t *testing.T, tasks ...events.TaskID) (eventlog.Job, store.JobStore) {
	t.Helper()
	log := memlog.New(memlog.Config{Job: "sums"})
	records, err := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	coordinate(t, log, records, tasks...)
	return log, records
}

// onRedis is a client of the server that coordinates the job sums.
func onRedis(t *testing.T, server *testredis.Server, tasks ...events.TaskID) (redis.UniversalClient, *coordinator.Coordinator) {
	t.Helper()
	opts := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislog.Tune(opts)
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	log, err1 := redislog.Open(redislog.Config{Job: "sums", Client: client})
	records, err2 := storeredis.NewJob(client, "sums", storeredis.JobOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return client, coordinate(t, log, records, tasks...)
}

// coordinate starts a coordinator with many checkpoints and ends it with the test.
func coordinate(t *testing.T, log eventlog.Job, records store.JobStore, tasks ...events.TaskID) *coordinator.Coordinator {
	t.Helper()
	c, err := coordinator.Open(t.Context(), coordinator.Config{
		Job: "sums", Log: log, Store: records, Tasks: tasks, Interval: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// awaitCheckpoint returns when a checkpoint that holds records has completed.
func awaitCheckpoint(t *testing.T, c *coordinator.Coordinator, records *atomic.Int64) {
	t.Helper()
	var latest events.CheckpointID
	newest := func() bool {
		cp, err := c.Latest(t.Context())
		if err == nil {
			latest = cp.ID
		}
		return err == nil
	}
	await(t, func() bool { return records.Load() > 0 && newest() })
	enough := latest + 2 // the next one may be cut already; one at a time is pending
	await(t, func() bool { return newest() && latest >= enough })
}

// await polls until the condition holds.
func await(t *testing.T, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain", patience)
		}
	}
}
