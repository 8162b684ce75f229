package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// JobSubject is one empty job store under test.
type JobSubject struct {
	// Job is empty and without a token.
	Job store.JobStore
	// Lead puts a token in force, or none for the zero one.
	Lead func(t testing.TB, f store.Fence)
}

// MaxChunk is the chunk limit that the suite expects of the stores of a [JobSubject], in bytes.
const MaxChunk = 1 << 20

var (
	first  = store.Fence{Epoch: 1, Instance: "a"}
	second = store.Fence{Epoch: 2, Instance: "a"}
	other  = store.Fence{Epoch: 1, Instance: "b"}
)

type jobRule struct {
	name string
	test func(t *testing.T, s JobSubject)
}

// ExerciseJob runs what [store.JobStore] adds to the contract: fencing and chunks. The record rules are those of
// [Exercise], run on a fenced view.
func ExerciseJob(t *testing.T, fresh func(t testing.TB) JobSubject) {
	t.Helper()
	for _, r := range append(fenceRules(), chunkRules()...) {
		t.Run(r.name, func(t *testing.T) { r.test(t, fresh(t)) })
	}
}

// failure drops the result of a call.
func failure[T any](_ T, err error) error { return err }

// writes are all calls that need the token, on a store that holds the open record 1, the completed 2 and a chunk.
func writes(digest string) map[string]func(testing.TB, store.JobStore) error {
	return map[string]func(testing.TB, store.JobStore) error{
		"create":       func(t testing.TB, j store.JobStore) error { return j.Create(t.Context(), store.New(3, 1)) },
		"create taken": func(t testing.TB, j store.JobStore) error { return j.Create(t.Context(), store.New(2, 1)) },
		"store":        func(t testing.TB, j store.JobStore) error { return j.Store(t.Context(), store.New(1, 77)) },
		"store new":    func(t testing.TB, j store.JobStore) error { return j.Store(t.Context(), store.New(4, 77)) },
		"store over done": func(t testing.TB, j store.JobStore) error {
			return j.Store(t.Context(), store.New(2, 77))
		},
		"complete":         func(t testing.TB, j store.JobStore) error { return failure(j.Complete(t.Context(), 1, nil)) },
		"complete done":    func(t testing.TB, j store.JobStore) error { return failure(j.Complete(t.Context(), 2, nil)) },
		"complete missing": func(t testing.TB, j store.JobStore) error { return failure(j.Complete(t.Context(), 9, nil)) },
		"delete":           func(t testing.TB, j store.JobStore) error { return failure(j.Delete(t.Context(), 1)) },
		"delete missing":   func(t testing.TB, j store.JobStore) error { return failure(j.Delete(t.Context(), 9)) },
		"cleanup":          func(t testing.TB, j store.JobStore) error { return failure(j.Cleanup(t.Context(), 0, nil)) },
		"cleanup of none":  func(t testing.TB, j store.JobStore) error { return failure(j.Cleanup(t.Context(), 9, nil)) },
		"keep":             func(t testing.TB, j store.JobStore) error { return failure(j.Keep(t.Context(), []string{digest})) },
		"keep none":        func(t testing.TB, j store.JobStore) error { return failure(j.Keep(t.Context(), nil)) },
		"release":          func(t testing.TB, j store.JobStore) error { return j.Release(t.Context(), []string{digest}, time.Hour) },
		"release none":     func(t testing.TB, j store.JobStore) error { return j.Release(t.Context(), nil, time.Hour) },
	}
}

func fenceRules() []jobRule {
	return []jobRule{
		{"every write without the token in force is fenced, and nothing is written", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			leader := s.Job.Fenced(first)
			putAll(t, leader, "1 open 2 done")
			ref, err := s.Job.PutChunk(t.Context(), []byte("chunk"))
			ok(t, "put chunk", err)
			before, err := leader.List(t.Context(), 10)
			ok(t, "list", err)
			for name, tc := range map[string]struct {
				inForce store.Fence
				view    store.JobStore
			}{
				"no token in the view": {first, s.Job}, "a newer epoch leads": {second, s.Job.Fenced(first)},
				"an older epoch leads": {first, s.Job.Fenced(second)}, "another instance leads": {other, s.Job.Fenced(first)},
				"nobody leads": {store.Fence{}, s.Job.Fenced(first)},
			} {
				s.Lead(t, tc.inForce)
				for op, call := range writes(ref.Digest) {
					is(t, name+": "+op, call(t, tc.view), store.ErrFenced)
				}
			}
			after, err := s.Job.List(t.Context(), 10)
			ok(t, "list", err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
		}},
		{"the token in force lets every write through", func(t *testing.T, s JobSubject) {
			for name := range writes("") {
				leader := s.Job.Fenced(second)
				s.Lead(t, second)
				ok(t, "empty", failure(leader.Cleanup(t.Context(), 0, nil)))
				putAll(t, leader, "1 open 2 done")
				ref, err := s.Job.PutChunk(t.Context(), []byte("chunk"))
				ok(t, "put chunk", err)
				if err := writes(ref.Digest)[name](t, leader); errors.Is(err, store.ErrFenced) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}},
		{"reading and putting chunks need no token", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			putAll(t, s.Job.Fenced(first), "1 done 2 open")
			s.Lead(t, store.Fence{})
			equal(t, "latest", latest(t, s.Job), 1)
			equal(t, "list", listed(t, s.Job, 5), "[2 1]")
			equal(t, "highest", highest(t, s.Job), 2)
			ref, err := s.Job.PutChunk(t.Context(), []byte("x"))
			ok(t, "put", err)
			_, err = s.Job.GetChunk(t.Context(), ref.Digest)
			ok(t, "get", err)
		}},
		{"closing a view closes nothing else", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			view := s.Job.Fenced(first)
			ok(t, "close", view.Close())
			is(t, "closed view", view.Create(t.Context(), store.New(1, 1)), store.ErrClosed)
			ok(t, "another view", s.Job.Fenced(first).Create(t.Context(), store.New(1, 1)))
		}},
		{"a coordinator that loses the token in the middle of a completion completes nothing", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			leader := s.Job.Fenced(first)
			putAll(t, leader, "1 open")
			_, err := leader.Complete(t.Context(), 1, func(*store.Checkpoint) error {
				s.Lead(t, second)
				return nil
			})
			is(t, "complete", err, store.ErrFenced)
			equal(t, "completed", load(t, s.Job, 1).Completed, false)
		}},
	}
}

func chunkRules() []jobRule {
	return []jobRule{
		{"a chunk comes back as it went in, whatever its size and kind", func(t *testing.T, s JobSubject) {
			random := rand.New(rand.NewPCG(1, 2))
			for _, size := range []int{0, 1, 63, 64, 1000, 100_000, MaxChunk} {
				noise := make([]byte, size)
				for i := range noise {
					noise[i] = byte(random.Uint32())
				}
				for kind, data := range map[string][]byte{"noise": noise, "even": bytes.Repeat([]byte{7}, size)} {
					name := fmt.Sprintf("%d bytes of %s", size, kind)
					ref, err := s.Job.PutChunk(t.Context(), data)
					ok(t, name, err)
					equal(t, name+": raw", ref.Raw, int64(size))
					equal(t, name+": digest", ref.Digest, store.Digest(data))
					if ref.Bytes > int64(size)+store.FrameHeader || kind == "even" && size >= 1000 && ref.Bytes > 300 {
						t.Errorf("%s: stored as %d bytes", name, ref.Bytes)
					}
					got, err := s.Job.GetChunk(t.Context(), ref.Digest)
					ok(t, name, err)
					equal(t, name+": same", bytes.Equal(got, data), true)
				}
			}
		}},
		{"the same content put again is the same chunk", func(t *testing.T, s JobSubject) {
			data := bytes.Repeat([]byte("tide"), 100)
			one, err := s.Job.PutChunk(t.Context(), data)
			ok(t, "put", err)
			two, err := s.Job.PutChunk(t.Context(), data)
			ok(t, "put", err)
			equal(t, "ref", two, one)
		}},
		{"a missing chunk, a bad digest and too much content each have their error", func(t *testing.T, s JobSubject) {
			_, err := s.Job.GetChunk(t.Context(), store.Digest([]byte("never put")))
			is(t, "missing", err, store.ErrChunkMissing)
			for _, bad := range []string{"", "abc", "../x", store.Digest(nil) + "0", "E" + store.Digest(nil)[1:]} {
				_, err := s.Job.GetChunk(t.Context(), bad)
				is(t, "get "+bad, err, store.ErrInvalid)
				s.Lead(t, first)
				_, err = s.Job.Fenced(first).Keep(t.Context(), []string{bad})
				is(t, "keep "+bad, err, store.ErrInvalid)
			}
			_, err = s.Job.PutChunk(t.Context(), make([]byte, MaxChunk+1))
			is(t, "too large", err, store.ErrTooLarge)
			is(t, "no grace", s.Job.Fenced(first).Release(t.Context(), nil, 0), store.ErrInvalid)
		}},
		{"keep proves each chunk, over any number of batches", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			var all []string
			var want []events.CheckpointID
			for i := range 2*store.KeepBatch + 3 {
				data := fmt.Append(nil, i)
				all = append(all, store.Digest(data))
				if i%400 == 3 {
					want = append(want, events.CheckpointID(i))
					continue
				}
				if _, err := s.Job.PutChunk(t.Context(), data); err != nil {
					t.Fatal(err)
				}
			}
			missing, err := s.Job.Fenced(first).Keep(t.Context(), all)
			ok(t, "keep", err)
			equal(t, "missing", len(missing), len(want))
			for i, id := range want {
				equal(t, "missing", missing[i], all[id])
			}
			ok(t, "release", s.Job.Fenced(first).Release(t.Context(), all, time.Hour))
		}},
		{"keep and release repeated change nothing", func(t *testing.T, s JobSubject) {
			s.Lead(t, first)
			leader := s.Job.Fenced(first)
			ref, err := s.Job.PutChunk(t.Context(), []byte("x"))
			ok(t, "put", err)
			for range 2 {
				missing, err := leader.Keep(t.Context(), []string{ref.Digest, ref.Digest})
				ok(t, "keep", err)
				equal(t, "missing", len(missing), 0)
			}
			for range 2 {
				ok(t, "release", leader.Release(t.Context(), []string{ref.Digest, store.Digest(nil)}, time.Hour))
			}
			_, err = s.Job.GetChunk(t.Context(), ref.Digest)
			ok(t, "get", err)
		}},
	}
}
