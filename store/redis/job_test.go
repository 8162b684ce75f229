package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

var fence = store.Fence{Epoch: 3, Instance: "me"}

func newJob(t testing.TB, client goredis.UniversalClient, job events.JobID, opts redis.JobOptions) *redis.Job {
	t.Helper()
	j, err := redis.NewJob(client, job, opts)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// lead puts a token in force as a coordinator does.
func lead(t testing.TB, client goredis.UniversalClient, job events.JobID, f store.Fence) {
	t.Helper()
	key := redis.LeaderKey(job)
	err := client.Del(t.Context(), key).Err()
	if err == nil && !f.IsZero() {
		err = client.HSet(t.Context(), key, "epoch", f.Epoch.String(), "instance", f.Instance.String()).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exerciseJob(t *testing.T, client goredis.UniversalClient, wrap func(store.JobStore) store.JobStore) {
	t.Helper()
	storetest.ExerciseJob(t, func(t testing.TB) storetest.JobSubject {
		job := events.JobID(fmt.Sprintf("j%d", prefixes.Add(1)))
		return storetest.JobSubject{
			Job:  wrap(newJob(t, client, job, redis.JobOptions{MaxChunk: storetest.MaxChunk})),
			Lead: func(t testing.TB, f store.Fence) { lead(t, client, job, f) },
		}
	})
}

func TestJobKeepsTheContract(t *testing.T) {
	client := testredis.Start(t).Client(t)
	exerciseJob(t, client, func(j store.JobStore) store.JobStore { return j })
}

func TestJobKeepsTheContractBehindFaultsThatAreNotArmed(t *testing.T) {
	client := testredis.Start(t).Client(t)
	exerciseJob(t, client, func(j store.JobStore) store.JobStore {
		return storetest.NewFaultyJob(j, &storetest.Faults{})
	})
}

func TestJobKeepsTheContractOnACluster(t *testing.T) {
	client := testredis.StartCluster(t, 3).Client(t)
	exerciseJob(t, client, func(j store.JobStore) store.JobStore { return j })
}

func TestFencedViewKeepsTheRecordContract(t *testing.T) {
	client := testredis.Start(t).Client(t)
	storetest.Exercise(t, func(t testing.TB) storetest.Subject {
		job := events.JobID(fmt.Sprintf("j%d", prefixes.Add(1)))
		lead(t, client, job, fence)
		open := func(t testing.TB) store.Store {
			return newJob(t, client, job, redis.JobOptions{MaxRecord: storetest.MaxRecord}).Fenced(fence)
		}
		return storetest.Subject{
			Store: open(t),
			Plant: func(t testing.TB, id events.CheckpointID, raw string) {
				key := redis.DefaultJobKeyPrefix + "{" + job.String() + "}:" + id.String()
				if err := client.Set(t.Context(), key, raw, 0).Err(); err != nil {
					t.Fatal(err)
				}
			},
			Reopen: open,
		}
	})
}

func TestKeysOfAJob(t *testing.T) {
	c := testredis.Start(t).Client(t)
	lead(t, c, "orders", fence)
	j := newJob(t, c, "orders", redis.JobOptions{})
	storeID(t, j.Fenced(fence), 7, true)
	ref, err := j.PutChunk(t.Context(), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("[streaming:runtime:checkpoint:{orders}:7 streaming:runtime:checkpoint:{orders}:state:%s tm:{orders}:leader]",
		ref.Digest)
	if got := fmt.Sprint(keysOf(t, c)); got != want {
		t.Errorf("keys %s\nwant %s", got, want)
	}
	if got := j.RecordKey(7); got != "streaming:runtime:checkpoint:{orders}:7" {
		t.Errorf("record key %s", got)
	}
}

// TestLivesOfChunks walks through the drawing in the documentation of store.Chunks.
func TestLivesOfChunks(t *testing.T) {
	c := testredis.Start(t).Client(t)
	lead(t, c, "j", fence)
	j := newJob(t, c, "j", redis.JobOptions{ChunkLife: time.Hour})
	leader := j.Fenced(fence)
	data := []byte("x")
	digest := store.Digest(data)
	key := redis.DefaultJobKeyPrefix + "{j}:state:" + digest
	put := func() error { _, err := j.PutChunk(t.Context(), data); return err }
	release := func(grace time.Duration) func() error {
		return func() error { return leader.Release(t.Context(), []string{digest}, grace) }
	}
	expire := func(life time.Duration) func() error {
		return func() error { return c.PExpire(t.Context(), key, life).Err() }
	}
	keep := func() error { _, err := leader.Keep(t.Context(), []string{digest}); return err }
	for i, step := range []struct {
		name string
		do   func() error
		want time.Duration // about; 0 is permanent
	}{
		{"put of a new one gives full life", put, time.Hour},
		{"somebody's clock has run", expire(10 * time.Second), 10 * time.Second},
		{"put of a mortal one renews its life", put, time.Hour},
		{"a longer life", expire(5 * time.Hour), 5 * time.Hour},
		{"put does not shorten", put, 5 * time.Hour},
		{"release leaves a mortal one alone", release(time.Minute), 5 * time.Hour},
		{"keep makes permanent", keep, 0},
		{"put leaves a permanent one alone", put, 0},
		{"release gives grace", release(time.Minute), time.Minute},
		{"release again does not lengthen it", release(time.Hour), time.Minute},
		{"keep takes it back", keep, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%d %s: %v", i, step.name, err)
		}
		left := c.PTTL(t.Context(), key).Val()
		if step.want == 0 && left != -1 || step.want != 0 && (left > step.want || left < step.want-5*time.Second) {
			t.Errorf("%d %s: %v left, want about %v", i, step.name, left, step.want)
		}
	}
}

func TestDamagedChunkIsFoundAndMendedByTheNextPut(t *testing.T) {
	c := testredis.Start(t).Client(t)
	lead(t, c, "j", fence)
	j := newJob(t, c, "j", redis.JobOptions{})
	data := []byte(strings.Repeat("tide", 100))
	digest := store.Digest(data)
	key := redis.DefaultJobKeyPrefix + "{j}:state:" + digest
	for name, harm := range map[string]func() error{
		"cut short": func() error {
			return c.Set(t.Context(), key, c.GetRange(t.Context(), key, 0, 60).Val(), goredis.KeepTTL).Err()
		},
		"emptied":     func() error { return c.Set(t.Context(), key, "", goredis.KeepTTL).Err() },
		"overwritten": func() error { return c.Set(t.Context(), key, "nonsense", goredis.KeepTTL).Err() },
		"lengthened":  func() error { return c.Append(t.Context(), key, "x").Err() },
		"of another chunk": func() error {
			return c.SetRange(t.Context(), key, 20, "other digest").Err()
		},
	} {
		if _, err := j.PutChunk(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Fenced(fence).Keep(t.Context(), []string{digest}); err != nil {
			t.Fatal(err)
		}
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if _, err := j.GetChunk(t.Context(), digest); !store.Unreadable(err) {
			t.Errorf("%s: get says %v", name, err)
		}
		if _, err := j.PutChunk(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		if got, err := j.GetChunk(t.Context(), digest); err != nil || string(got) != string(data) {
			t.Errorf("%s: not mended: %v", name, err)
		}
		if left := c.PTTL(t.Context(), key).Val(); left != -1 {
			t.Errorf("%s: mended, but mortal now: %v", name, left)
		}
	}
}
