package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// TestLostAnswerIsReadBack loses the answer of the script that writes, once with a client that sends it again by
// itself, and once with one that does not.
func TestLostAnswerIsReadBack(t *testing.T) {
	server := testredis.Start(t)
	for name, call := range map[string]func(context.Context, store.JobStore) (any, error){
		"create 5: <nil>": func(ctx context.Context, j store.JobStore) (any, error) {
			return "5", j.Create(ctx, store.New(5, 5))
		},
		"store 5: <nil>": func(ctx context.Context, j store.JobStore) (any, error) {
			return "5", j.Store(ctx, store.New(5, 5))
		},
		"complete true: <nil>": func(ctx context.Context, j store.JobStore) (any, error) {
			cp, err := j.Complete(ctx, 3, func(cp *store.Checkpoint) error { cp.State["k"] = 1; return nil })
			if err != nil {
				return false, err
			}
			stored, err := j.Load(ctx, 3)
			return err == nil && cp.Completed && stored.Completed && stored.State["k"] == int64(1), err
		},
		"delete true: <nil>": func(ctx context.Context, j store.JobStore) (any, error) { return j.Delete(ctx, 3) },
	} {
		for client, retries := range map[string]int{"client sends again": 3, "client does not": -1} {
			t.Run(name+", "+client, func(t *testing.T) {
				cut := &cutter{}
				c := cut.client(t, server, retries)
				job := events.JobID(fmt.Sprintf("j%d", prefixes.Add(1)))
				lead(t, c, job, fence)
				j := newJob(t, c, job, redis.JobOptions{}).Fenced(fence)
				storeID(t, j, 3, false)
				_, _ = j.Latest(t.Context())
				cut.armed.Store(1)
				got, err := call(t.Context(), j)
				var op string
				_, _ = fmt.Sscan(name, &op)
				if text := fmt.Sprintf("%s %v: %v", op, got, err); text != name {
					t.Errorf("got %s", text)
				}
				if cut.lost.Load() != 1 {
					t.Errorf("%d answers were lost", cut.lost.Load())
				}
				if view, again := view(t, j), view(t, newJob(t, c, job, redis.JobOptions{})); view != again {
					t.Errorf("index says %s, records say %s", view, again)
				}
			})
		}
	}
}

// TestOwnBytesAreSuccessEvenForOneWhoLeadsNoMore: the write happened while the token was in force.
func TestOwnBytesAreSuccessEvenForOneWhoLeadsNoMore(t *testing.T) {
	server := testredis.Start(t)
	cut := &cutter{}
	c := cut.client(t, server, -1)
	lead(t, c, "j", fence)
	j := newJob(t, c, "j", redis.JobOptions{}).Fenced(fence)
	storeID(t, j, 3, false)
	other := server.Client(t)
	cut.onCut = func() { lead(t, other, "j", store.Fence{Epoch: 4, Instance: "successor"}) }
	cut.armed.Store(1)
	if err := j.Store(t.Context(), store.New(3, 77)); err != nil || cut.lost.Load() != 1 {
		t.Errorf("store: %v, %d answers lost", err, cut.lost.Load())
	}
	if err := j.Store(t.Context(), store.New(3, 78)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("store again: %v", err)
	}
}

func TestLostAnswersOfCleanup(t *testing.T) {
	server := testredis.Start(t)
	for client, retries := range map[string]int{"client sends again": 3, "client does not": -1} {
		t.Run(client, func(t *testing.T) {
			cut := &cutter{}
			c := cut.client(t, server, retries)
			s := newStore(t, c, fmt.Sprintf("c%d:", prefixes.Add(1)))
			for id := events.CheckpointID(1); id <= 4; id++ {
				storeID(t, s, id, true)
			}
			_, _ = s.Latest(t.Context())
			cut.armed.Store(2)
			if n, err := s.Cleanup(t.Context(), 1, nil); n != 3 || err != nil {
				t.Errorf("removed %d, %v", n, err)
			}
			if got := view(t, s); got != "list [4] latest 4 highest 4" {
				t.Error(got)
			}
		})
	}
}

func TestLostAnswersOfChunks(t *testing.T) {
	server := testredis.Start(t)
	cut := &cutter{}
	c := cut.client(t, server, -1)
	lead(t, c, "j", fence)
	j := newJob(t, c, "j", redis.JobOptions{}).Fenced(fence)
	ref, err := j.PutChunk(t.Context(), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	cut.armed.Store(1)
	if _, err := j.Keep(t.Context(), []string{ref.Digest}); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("keep: %v", err)
	}
	if missing, err := j.Keep(t.Context(), []string{ref.Digest}); err != nil || len(missing) > 0 {
		t.Errorf("keep again: %v, %v", missing, err)
	}
	cut.armed.Store(1)
	if err := j.Release(t.Context(), []string{ref.Digest}, time.Hour); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("release: %v", err)
	}
	if err := j.Release(t.Context(), []string{ref.Digest}, time.Hour); err != nil {
		t.Errorf("release again: %v", err)
	}
}

func TestCreateWithoutAnAnswerIsUnknownAndMayBeRepeatedUnderItsNonce(t *testing.T) {
	server := testredis.Start(t)
	s := newStore(t, server.Client(t), "")
	impatient := server.Options()
	impatient.ReadTimeout, impatient.MaxRetries = 50*time.Millisecond, -1
	client := goredis.NewClient(impatient)
	t.Cleanup(func() { _ = client.Close() })
	hasty := newStore(t, client, "")
	storeID(t, hasty, 0, true)
	cp := store.New(1, 1)
	cp.Nonce = "mine"
	server.Pause()
	if err := hasty.Create(t.Context(), cp); !errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("create on a frozen server: %v", err)
	}
	server.Resume()
	if err := s.Create(t.Context(), cp); err != nil {
		t.Errorf("create again: %v", err)
	}
	if err := s.Create(t.Context(), store.New(1, 1)); !errors.Is(err, store.ErrExists) {
		t.Errorf("another one's create: %v", err)
	}
}

// TestServerThatIsGoneIsAnErrorAndNotNone: nothing turns a failing backend into "none", "not found" or 0.
func TestServerThatIsGoneIsAnErrorAndNotNone(t *testing.T) {
	server := testredis.Start(t)
	o := (&cutter{}).client(t, server, -1)
	lead(t, o, "j", fence)
	j := newJob(t, o, "j", redis.JobOptions{}).Fenced(fence)
	storeID(t, j, 1, true)
	_, _ = j.Latest(t.Context())
	server.Stop()
	ctx := t.Context()
	d := store.Digest(nil)
	for name, call := range map[string]func() error{
		"create":    func() error { return j.Create(ctx, store.New(2, 1)) },
		"store":     func() error { return j.Store(ctx, store.New(2, 1)) },
		"load":      func() error { _, err := j.Load(ctx, 1); return err },
		"list":      func() error { _, err := j.List(ctx, 1); return err },
		"latest":    func() error { _, err := j.Latest(ctx); return err },
		"highest":   func() error { _, err := j.HighestID(ctx); return err },
		"complete":  func() error { _, err := j.Complete(ctx, 1, nil); return err },
		"delete":    func() error { _, err := j.Delete(ctx, 1); return err },
		"cleanup":   func() error { _, err := j.Cleanup(ctx, 0, nil); return err },
		"put chunk": func() error { _, err := j.PutChunk(ctx, nil); return err },
		"get chunk": func() error { _, err := j.GetChunk(ctx, d); return err },
		"keep":      func() error { _, err := j.Keep(ctx, []string{d}); return err },
		"release":   func() error { return j.Release(ctx, []string{d}, time.Hour) },
		"open":      func() error { return newJob(t, o, "j", redis.JobOptions{}).Open(ctx) },
	} {
		err := call()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		for _, answer := range []error{
			store.ErrNone, store.ErrNotFound, store.ErrExists, store.ErrFenced, store.ErrCorrupt, store.ErrChunkMissing,
		} {
			if errors.Is(err, answer) {
				t.Errorf("%s: says %v", name, err)
			}
		}
	}
}

// TestServerThatForgetsEverythingIsAnEmptyStore: the same store goes on, with an index built anew.
func TestServerThatForgetsEverythingIsAnEmptyStore(t *testing.T) {
	server := testredis.Start(t)
	s := newStore(t, server.Client(t), "")
	storeID(t, s, 5, true)
	_ = view(t, s)
	server.Restart()
	if got := view(t, s); got != "list [] latest none highest none" {
		t.Error(got)
	}
	storeID(t, s, 6, true)
	if got := view(t, s); got != "list [6] latest 6 highest 6" {
		t.Error(got)
	}
}
