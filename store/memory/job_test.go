package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

var fence = store.Fence{Epoch: 3, Instance: "me"}

func newJob(t testing.TB) *memory.Job {
	t.Helper()
	j, err := memory.NewJob(memory.JobOptions{MaxRecord: storetest.MaxRecord, MaxChunk: storetest.MaxChunk, ChunkLife: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJobKeepsTheContract(t *testing.T) {
	storetest.ExerciseJob(t, func(t testing.TB) storetest.JobSubject {
		j := newJob(t)
		return storetest.JobSubject{Job: j, Lead: func(_ testing.TB, f store.Fence) { j.SetLeader(f) }}
	})
}

func TestFencedViewKeepsTheRecordContract(t *testing.T) {
	storetest.Exercise(t, func(t testing.TB) storetest.Subject {
		j := newJob(t)
		j.SetLeader(fence)
		return storetest.Subject{
			Store:  j.Fenced(fence),
			Plant:  func(_ testing.TB, id events.CheckpointID, raw string) { j.PutRaw(id, []byte(raw)) },
			Reopen: func(testing.TB) store.Store { return j.Fenced(fence) },
		}
	})
}

func TestLeaderFunctionDecides(t *testing.T) {
	leads := false
	j, err := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) { return fence, leads }})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Fenced(fence).Create(t.Context(), store.New(0, 0)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("before: %v", err)
	}
	leads = true
	if err := j.Fenced(fence).Create(t.Context(), store.New(0, 0)); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]memory.JobOptions{
		"negative life": {ChunkLife: -1}, "negative chunk": {MaxChunk: -1}, "chunk beyond the format": {MaxChunk: 1 << 33},
	} {
		if _, err := memory.NewJob(o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLivesOfChunks walks through the drawing in the documentation of store.Chunks.
func TestLivesOfChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t)
		j.SetLeader(fence)
		leader := j.Fenced(fence)
		put := func() string {
			ref, err := j.PutChunk(t.Context(), []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			return ref.Digest
		}
		digest := put()
		there := func(after time.Duration, want bool) {
			t.Helper()
			time.Sleep(after)
			if _, err := j.GetChunk(t.Context(), digest); (err == nil) != want {
				t.Errorf("chunk there after %v: %v, want %t", after, err, want)
			}
		}
		there(59*time.Minute, true)
		put() // about to end: lives again
		there(59*time.Minute, true)
		there(time.Minute, false)
		put()
		if err := leader.Release(t.Context(), []string{digest}, time.Minute); err != nil {
			t.Fatal(err)
		}
		there(59*time.Minute, true) // a mortal one is not shortened
		if missing, err := leader.Keep(t.Context(), []string{digest}); err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		there(1000*time.Hour, true)
		put() // a permanent one stays so
		there(1000*time.Hour, true)
		if err := leader.Release(t.Context(), []string{digest}, time.Minute); err != nil {
			t.Fatal(err)
		}
		there(59*time.Second, true)
		if err := leader.Release(t.Context(), []string{digest}, time.Hour); err != nil {
			t.Fatal(err)
		}
		there(time.Second, false) // and releasing it again does not lengthen its grace
		if missing, err := leader.Keep(t.Context(), []string{digest}); err != nil || len(missing) != 1 {
			t.Errorf("keep of an ended one: %v, %v", missing, err)
		}
	})
}
