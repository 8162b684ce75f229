package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/store/storetest"
)

var fence = store.Fence{Epoch: 1, Instance: "a"}

// calls is one call of each method on a store with the open record 1, the completed record 2 and one chunk.
func calls(j store.JobStore, digest string) map[storetest.Op]func(context.Context) error {
	return map[storetest.Op]func(context.Context) error{
		storetest.OpCreate:    func(ctx context.Context) error { return j.Create(ctx, store.New(3, 1)) },
		storetest.OpStore:     func(ctx context.Context) error { return j.Store(ctx, store.New(4, 1)) },
		storetest.OpLoad:      func(ctx context.Context) error { _, err := j.Load(ctx, 1); return err },
		storetest.OpList:      func(ctx context.Context) error { _, err := j.List(ctx, 1); return err },
		storetest.OpLatest:    func(ctx context.Context) error { _, err := j.Latest(ctx); return err },
		storetest.OpHighestID: func(ctx context.Context) error { _, err := j.HighestID(ctx); return err },
		storetest.OpComplete:  func(ctx context.Context) error { _, err := j.Complete(ctx, 1, nil); return err },
		storetest.OpDelete:    func(ctx context.Context) error { _, err := j.Delete(ctx, 2); return err },
		storetest.OpCleanup:   func(ctx context.Context) error { _, err := j.Cleanup(ctx, 0, nil); return err },
		storetest.OpPutChunk:  func(ctx context.Context) error { _, err := j.PutChunk(ctx, []byte("y")); return err },
		storetest.OpGetChunk:  func(ctx context.Context) error { _, err := j.GetChunk(ctx, digest); return err },
		storetest.OpKeep:      func(ctx context.Context) error { _, err := j.Keep(ctx, []string{digest}); return err },
		storetest.OpRelease: func(ctx context.Context) error {
			return j.Release(ctx, []string{digest}, time.Hour)
		},
	}
}

// newJob returns the bare store, the same behind faults, and the digest of its chunk.
func newJob(t *testing.T) (bare, faulty store.JobStore, faults *storetest.Faults, digest string) {
	t.Helper()
	job, err := memory.NewJob(memory.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job.SetLeader(fence)
	bare = job.Fenced(fence)
	done := store.New(2, 1)
	done.Complete()
	ref, err := bare.PutChunk(t.Context(), []byte("x"))
	if err := errors.Join(err, bare.Store(t.Context(), store.New(1, 1)), bare.Store(t.Context(), done)); err != nil {
		t.Fatal(err)
	}
	faults = &storetest.Faults{}
	return bare, storetest.NewFaultyJob(job, faults).Fenced(fence), faults, ref.Digest
}

// state is what a store holds, in a form that can be compared.
func state(t *testing.T, s store.JobStore) string {
	t.Helper()
	list, err := s.List(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, cp := range list {
		text += cp.String() + "\n"
	}
	return text
}

func TestFaultBeforeTheDeedLeavesEverythingAsItWas(t *testing.T) {
	for op := range calls(nil, "") {
		t.Run(string(op), func(t *testing.T) {
			bare, faulty, faults, digest := newJob(t)
			before := state(t, bare)
			own := errors.New("own error")
			in := faults.Add(storetest.Fault{Op: op, Err: own})
			if err := calls(faulty, digest)[op](t.Context()); !errors.Is(err, own) {
				t.Errorf("error %v", err)
			}
			if got := state(t, bare); got != before {
				t.Errorf("changed from\n%sto\n%s", before, got)
			}
			if in.Hits() != 1 || faults.Calls(op) != 1 || faults.Calls(storetest.AnyOp) != 1 {
				t.Errorf("%d hits of %d calls", in.Hits(), faults.Calls(op))
			}
			if err := calls(faulty, digest)[op](t.Context()); err != nil {
				t.Errorf("second call: %v", err)
			}
		})
	}
}

func TestFaultAfterTheDeedHidesIt(t *testing.T) {
	bare, faulty, faults, digest := newJob(t)
	for _, op := range []storetest.Op{storetest.OpCreate, storetest.OpStore, storetest.OpComplete, storetest.OpDelete, storetest.OpCleanup} {
		before := state(t, bare)
		faults.Add(storetest.Fault{Op: op, When: storetest.After})
		if err := calls(faulty, digest)[op](t.Context()); !errors.Is(err, storetest.ErrInjected) {
			t.Errorf("%s: error %v", op, err)
		}
		if state(t, bare) == before {
			t.Errorf("%s: nothing happened", op)
		}
	}
}

func TestHangingCallEndsWithItsContextOrWithTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bare, faulty, faults, _ := newJob(t)
		in := faults.Add(storetest.Fault{Op: storetest.OpCreate, When: storetest.Hang, Times: -1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := faulty.Create(ctx, store.New(3, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if _, err := bare.Load(t.Context(), 3); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it happened: %v", err)
		}
		done := make(chan error, 1) // one send by the call below, with room so that it never waits
		go func() { done <- faulty.Create(t.Context(), store.New(3, 1)) }()
		<-in.Entered()
		synctest.Wait()
		in.Remove()
		in.Remove()
		if err := <-done; err != nil {
			t.Errorf("after removal: %v", err)
		}
		if _, err := bare.Load(t.Context(), 3); err != nil {
			t.Errorf("it did not happen: %v", err)
		}
	})
}

func TestFaultSkipsAndCounts(t *testing.T) {
	_, faulty, faults, _ := newJob(t)
	faults.Add(storetest.Fault{Skip: 1, Times: 2})
	var got []bool
	for range 5 {
		_, err := faulty.Load(t.Context(), 1)
		got = append(got, err != nil)
	}
	for i, want := range []bool{false, true, true, false, false} {
		if got[i] != want {
			t.Errorf("call %d failed = %t", i, got[i])
		}
	}
	faults.Add(storetest.Fault{Times: -1})
	faults.Clear()
	if _, err := faulty.Load(t.Context(), 1); err != nil {
		t.Errorf("after Clear: %v", err)
	}
}
