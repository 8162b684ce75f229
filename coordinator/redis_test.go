package coordinator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

// redisWorld is a world whose log and store are on one Redis.
type redisWorld struct {
	*world
	client redis.UniversalClient
}

var jobs atomic.Int64

// newClient is tuned as the log wants it; it is closed at the end of the test.
func newClient(t testing.TB, srv *testredis.Server) redis.UniversalClient {
	t.Helper()
	opts := &redis.UniversalOptions{Addrs: []string{srv.Addr()}, DialTimeout: time.Second}
	redislog.Tune(opts)
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// newRedisWorld is a fresh job on the server.
func newRedisWorld(t *testing.T, srv *testredis.Server) *redisWorld {
	t.Helper()
	job := events.JobID(fmt.Sprintf("job-%d", jobs.Add(1)))
	client := newClient(t, srv)
	log, err := redislog.Open(redislog.Config{Job: job, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	st, err := storeredis.NewJob(client, job, storeredis.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faults := &storetest.Faults{}
	w := &world{t: t, log: log, store: storetest.NewFaultyJob(st, faults), faults: faults, lines: &lines{}}
	prefix := storeredis.DefaultJobKeyPrefix + "{" + job.String() + "}:state:"
	w.ttl = func(digest string) time.Duration {
		ttl, err := client.PTTL(t.Context(), prefix+digest).Result()
		if err != nil {
			t.Fatal(err)
		}
		return ttl
	}
	return &redisWorld{world: w, client: client}
}

// brief makes leases short enough for a test in real time.
func brief(cfg *coordinator.Config) {
	cfg.LeaseTTL, cfg.DrainTimeout = 300*time.Millisecond, time.Second
}

func (w *redisWorld) key(name string) string { return "tm:{" + w.log.Job().String() + "}:" + name }

// complete is one whole checkpoint.
func (w *world) complete(c *coordinator.Coordinator) events.CheckpointID {
	w.t.Helper()
	h := trigger(w.t, c, none)
	ackWith(w.t, w, c, h.ID, "task-1", "shared", "a"+h.ID.String())
	ackWith(w.t, w, c, h.ID, "task-2", "shared")
	wait(w.t, h)
	return h.ID
}

// completeSoon is complete once the coordinator leads (again).
func (w *world) completeSoon(c *coordinator.Coordinator) events.CheckpointID {
	w.t.Helper()
	id := events.NoCheckpoint
	w.eventually("a checkpoint completes", func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		defer cancel()
		h, err := c.Trigger(ctx, none)
		if err != nil {
			return false
		}
		for _, task := range []events.TaskID{"task-1", "task-2"} {
			if _, err := c.Acknowledge(ctx, h.ID, task, coordinator.Ack{}); err != nil {
				return false
			}
		}
		id = h.ID
		return h.Wait(ctx) == nil
	})
	return id
}

// The example of the package with a store of plain keys: the record is the string example:checkpoint:0.
func TestTheExampleOnPlainKeysOfARealRedis(t *testing.T) {
	srv := testredis.Start(t)
	client := newClient(t, srv)
	records, err := storeredis.New(client, storeredis.Options{KeyPrefix: "example:checkpoint:"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := coordinator.Open(t.Context(), coordinator.Config{Store: records, RequiredAcks: 3})
	if err != nil {
		t.Fatal(err)
	}
	h := trigger(t, c, none)
	cp := wantRecord(t, c, h.ID, false)
	cp.State["user-count"] = 1000
	cp.State["offsets"] = map[string]int{"p0": 11, "p1": 22}
	if err := records.Store(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks(3) {
		ack(t, c, h.ID, task)
	}
	wait(t, h)
	if n, err := c.Restore(t.Context(), h.ID, func(string, any) error { return nil }); n != 2 || err != nil {
		t.Errorf("restored %d, %v", n, err)
	}
	if n, err := c.Cleanup(t.Context(), 2); n != 0 || err != nil {
		t.Errorf("cleanup %d, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if kind, err := client.Type(t.Context(), "example:checkpoint:0").Result(); kind != "string" || err != nil {
		t.Errorf("example:checkpoint:0 is a %s, %v", kind, err)
	}
	next, err := coordinator.Open(t.Context(), coordinator.Config{Store: records, RequiredAcks: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	if h := trigger(t, next, none); h.ID != 1 {
		t.Errorf("next process: id %s", h.ID)
	}
}

func TestRandomCrashesOnRedisLeaveKeysAndLogInAgreement(t *testing.T) {
	srv := testredis.Start(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a repeatable choice of crash points
			w := newRedisWorld(t, srv)
			j := newJob(w.world, brief)
			for range 8 {
				j.live(4, dieAt(r, 40))
			}
			j.settle()
		})
	}
}

func TestVerbsOnRedis(t *testing.T) {
	w := newRedisWorld(t, testredis.Start(t))
	c := w.open(func(cfg *coordinator.Config) { brief(cfg); cfg.Timeout, cfg.MaxConcurrent = 200*time.Millisecond, 3 })
	if id := w.complete(c); id != 0 {
		t.Errorf("first id %s", id)
	}
	expiring := trigger(t, c, none)
	ack(t, c, expiring.ID, "task-1")
	waitFailed(t, expiring, events.FailedExpired)
	if got := ack(t, c, expiring.ID, "task-2"); got != projection.Late {
		t.Errorf("late ack: %s", got)
	}
	declined := trigger(t, c, none)
	if _, err := c.Decline(t.Context(), declined.ID, "task-1", 0, events.DeclinedOther, "no"); err != nil {
		t.Fatal(err)
	}
	waitFailed(t, declined, events.FailedDeclined)
	aborted := trigger(t, c, none)
	if err := c.AbortAll(t.Context(), "job cancelled"); err != nil {
		t.Fatal(err)
	}
	waitFailed(t, aborted, events.FailedAborted)
	joined := trigger(t, c, coordinator.TriggerOptions{JoiningEvent: "e"})
	if got := ack(t, c, joined.ID, "task-1"); got != projection.WrongJoiningEvent {
		t.Errorf("ack without the event: %s", got)
	}
	if err := c.Complete(t.Context(), joined.ID); err != nil {
		t.Fatal(err)
	}
	if latest, err := c.Latest(t.Context()); err != nil || latest.ID != joined.ID {
		t.Errorf("latest %v, %v", latest, err)
	}
	w.eventually("failed ones are discarded", func() bool { return len(w.fold().Waste()) == 0 })
	for _, h := range []*coordinator.Handle{expiring, declined, aborted} {
		if got := w.record(h.ID); got != absent {
			t.Errorf("record of %s: %s", h.ID, got)
		}
	}
}

func TestAPausedLeaderOnRedisThatWakesWritesNothing(t *testing.T) {
	w := newRedisWorld(t, testredis.Start(t))
	// The old leader is asleep: its calls of the store come to an end only when it wakes.
	sleeping := w.faults.Add(storetest.Fault{Op: storetest.OpKeep, When: storetest.Hang})
	old, err := coordinator.New(w.config(func(cfg *coordinator.Config) { brief(cfg); cfg.LeaseTTL = time.Hour }))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- old.Run(t.Context()) }()
	var h *coordinator.Handle
	w.eventually("it leads", func() bool { h, err = old.Trigger(t.Context(), none); return err == nil })
	ackWith(t, w.world, old, h.ID, "task-1", "a")
	ackWith(t, w.world, old, h.ID, "task-2", "b")
	<-sleeping.Entered()
	if err := w.client.HSet(t.Context(), w.key("leader"), "expires", 0).Err(); err != nil { // its lease has lapsed
		t.Fatal(err)
	}
	other := *w.world
	other.store = mustStore(t, w)
	next := other.open(brief)
	sleeping.Remove()
	waitFailed(t, h, events.FailedCoordinatorChanged)
	w.complete(next)
	if n := count[*events.CheckpointCompleted](w.world); n != 1 {
		t.Errorf("%d completed", n)
	}
	w.eventually("the old one's record is discarded", func() bool { return w.record(h.ID) == absent })
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// mustStore is another view of the job's store, without the faults of the first.
func mustStore(t *testing.T, w *redisWorld) store.Store {
	t.Helper()
	st, err := storeredis.NewJob(w.client, w.log.Job(), storeredis.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return storetest.NewFaultyJob(st, &storetest.Faults{})
}
