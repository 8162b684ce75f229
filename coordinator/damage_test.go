package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

func TestRedisThatRestartsInTheMiddleLosesNothing(t *testing.T) {
	srv := testredis.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	w := newRedisWorld(t, srv)
	c := w.open(func(cfg *coordinator.Config) { brief(cfg); cfg.LeaseTTL = 2 * time.Second })
	w.complete(c)
	h := trigger(t, c, none)
	ack(t, c, h.ID, "task-1")
	srv.Restart()
	ack(t, c, h.ID, "task-2")
	wait(t, h)
	wantRecord(t, c, h.ID, true)
	w.complete(c)
	if epoch := w.fold().Epoch(); epoch != 1 {
		t.Errorf("epoch %s: a restart of Redis is no change of the coordinator", epoch)
	}
}

func TestALogThatIsDeletedBeginsANewEpochWithWhatIsKnown(t *testing.T) {
	for name, damage := range map[string]func(*redisWorld) error{
		"DEL of the log":     func(w *redisWorld) error { return w.client.Del(w.t.Context(), w.key("log")).Err() },
		"FLUSHALL":           func(w *redisWorld) error { return w.client.FlushAll(w.t.Context()).Err() },
		"DEL of the token":   func(w *redisWorld) error { return w.client.Del(w.t.Context(), w.key("leader")).Err() },
		"the log is trimmed": func(w *redisWorld) error { return w.client.XTrimMaxLen(w.t.Context(), w.key("log"), 0).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRedisWorld(t, testredis.Start(t))
			c := w.open(brief)
			first := w.complete(c)
			h := trigger(t, c, none)
			ack(t, c, h.ID, "task-1")
			if err := damage(w); err != nil {
				t.Fatal(err)
			}
			waitFailed(t, h, events.FailedCoordinatorChanged)
			id := w.completeSoon(c)
			if id <= h.ID || id <= first {
				t.Errorf("id %s after %s", id, h.ID)
			}
			if s := w.fold(); s.Epoch() < 2 {
				t.Errorf("epoch %s", s.Epoch())
			}
			wantRecord(t, c, first, true) // what completed stays completed, or is written anew
			if name == "DEL of the token" {
				return
			}
			w.eventually("the gap is in the log", func() bool { return count[*events.LogGapFound](w.world) == 1 })
		})
	}
}

func TestALogWhoseEndWentBackIsFoldedAnewUnderAHigherEpoch(t *testing.T) {
	srv := testredis.Start(t)
	w := newRedisWorld(t, srv)
	c := w.open(brief)
	w.complete(c)
	s := w.fold()
	dump := w.client.Dump(t.Context(), w.key("log")).Val()
	h := trigger(t, c, none) // this is lost with the master that failed
	prefix := storeredis.DefaultJobKeyPrefix + "{" + w.log.Job().String() + "}:"
	gone := []string{prefix + h.ID.String(), prefix + "index", prefix + "index:time"}
	if err := w.client.Del(t.Context(), gone...).Err(); err != nil {
		t.Fatal(err)
	}
	if err := w.client.RestoreReplace(t.Context(), w.key("log"), 0, dump).Err(); err != nil {
		t.Fatal(err)
	}
	waitFailed(t, h, events.FailedCoordinatorChanged)
	id := w.completeSoon(c)
	if id <= h.ID {
		t.Errorf("id %s was used before", id)
	}
	now := w.fold()
	if now.Epoch() <= s.Epoch() {
		t.Errorf("epoch %s", now.Epoch())
	}
	w.eventually("the gap is in the log", func() bool { return count[*events.LogGapFound](w.world) == 1 })
	if last, _ := w.fold().Gap(); last.Cause != events.GapFailover {
		t.Errorf("cause %s", last.Cause)
	}
}

func TestPoisonIsPutAsideAndTheFoldGoesOn(t *testing.T) {
	w := newRedisWorld(t, testredis.Start(t))
	poison := func(values ...any) {
		if err := w.client.XAdd(t.Context(), &redis.XAddArgs{Stream: w.key("log"), Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	poison("before", "anybody leads")
	c := w.open(brief)
	poison("nobody", "reads this")
	poison(events.FieldID, "x", events.FieldPayload, "{bad")
	w.complete(c)
	w.eventually("all are in quarantine", func() bool {
		list, err := w.log.Quarantined(t.Context(), 10)
		return err == nil && len(list) == 3
	})
	if got := w.fold().Statistics().Quarantined; got != 3 {
		t.Errorf("%d skipped", got)
	}
}

func TestAQuarantineOrFeedOfTheWrongTypeHoldsUpNoVerdict(t *testing.T) {
	w := newRedisWorld(t, testredis.Start(t))
	for _, name := range []string{"quarantine", "control", "tasks"} {
		if err := w.client.Set(t.Context(), w.key(name), "not mine", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	c := w.open(brief)
	for range 10 {
		if err := w.client.XAdd(t.Context(), &redis.XAddArgs{Stream: w.key("log"), Values: []any{"a", "b"}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.complete(c)
	w.complete(c)
	if len(w.lines.with("quarantine poison entries", "WRONGTYPE")) == 0 {
		t.Error("the operator was not told")
	}
}

// Every few milliseconds all connections are cut: of many writes nobody knows whether they happened.
func TestWithConnectionsCutAllTheTimeEveryVerdictCountsOnce(t *testing.T) {
	srv := testredis.Start(t)
	w := newRedisWorld(t, srv)
	killer := srv.Client(t)
	ctx, stop := context.WithCancel(t.Context())
	cut := make(chan int, 1) // sent once by the goroutine, when it ends
	go func() {
		tick := time.NewTicker(7 * time.Millisecond)
		defer tick.Stop()
		n := 0
		for ctx.Err() == nil {
			<-tick.C
			if killed, err := killer.Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Int(); err == nil {
				n += killed
			}
		}
		cut <- n
	}()
	c := w.open(func(cfg *coordinator.Config) { brief(cfg); cfg.LeaseTTL, cfg.Retain = time.Minute, 2 })
	for range 20 {
		w.completeSoon(c)
	}
	stop()
	if n := <-cut; n < 20 {
		t.Errorf("only %d connections were cut", n)
	}
	w.eventually("all is discarded", func() bool { return len(w.fold().Waste()) == 0 && len(w.fold().Live()) == 0 })
	s := w.fold()
	if got := s.Statistics(); got.Completed < 20 || got.Epochs != 1 {
		t.Errorf("%+v", got)
	}
	verdicts := map[events.CheckpointID]int{}
	for _, h := range s.History() {
		verdicts[h.ID]++
	}
	for id := range s.NextID() {
		if verdicts[id] > 1 {
			t.Errorf("checkpoint %s has %d verdicts", id, verdicts[id])
		}
	}
	for _, cp := range s.Completed() {
		w.eventually("its record says so", func() bool { return w.record(cp.ID) == marked })
	}
}
