package worker_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/storetest"
	"github.com/tidemark-stream/tidemark/worker"
)

// checkpointOf runs a first worker to a completed checkpoint 3 over the numbers, and shuts it down.
func checkpointOf(s *stage, numbers ...int) *events.TaskAcked {
	s.Helper()
	j := newJob()
	r := s.start(j.config())
	for _, v := range numbers {
		j.feed.c <- v
	}
	synctest.Wait()
	s.pend(3)
	ack := next[*events.TaskAcked](s)
	s.complete(ack)
	synctest.Wait()
	r.cancel(errShutdown)
	if err := r.wait(); err != nil {
		s.Fatal(err)
	}
	return ack
}

var errShutdown = errors.New("shutdown")

func TestAWorkerRestoresWhatItsPredecessorHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		checkpointOf(s, 1, 2, 11)
		for _, mode := range []engine.RestoreMode{engine.Adopt, engine.Fresh} {
			j := newJob()
			j.rows = rowsOf(t, 1, 2, 12) // those that the cut counts
			cfg := j.config()
			cfg.Mode = mode
			r := s.run(cfg)
			s.admit(3)
			restored := next[*events.TaskRestored](s)
			if restored.Checkpoint != 3 || restored.Attempt != s.attempts || restored.Task != task {
				t.Errorf("restored %+v", restored)
			}
			j.feed.c <- 21
			synctest.Wait()
			want := map[engine.RestoreMode][]int{engine.Adopt: {1, 2, 12, 33}, engine.Fresh: {21}}[mode]
			if d := cmp.Diff(want, j.rows.All()); d != "" {
				t.Errorf("mode %v: %s", mode, d)
			}
			completed, failed, _ := j.spied().told()
			if !slices.Equal(completed, []int64{3}) || len(failed) > 0 {
				t.Errorf("told completed %v, failed %v", completed, failed)
			}
			r.cancel(errShutdown)
			if err := r.wait(); err != nil {
				t.Error(err)
			}
		}
	})
}

// rowsOf is a slice sink that has rows already.
func rowsOf(t *testing.T, list ...int) *engine.Rows[int] {
	t.Helper()
	var rows engine.Rows[int]
	g := engine.New(engine.Config{})
	engine.ToRows(engine.From[int](g, engine.Slice(list)), &rows)
	p, err := g.Build()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &rows
}

func TestARestorePointThatCannotBePutInPlaceEndsTheWorker(t *testing.T) {
	corrupt := &store.CorruptError{Key: "chunk", Reason: "flipped"}
	tests := map[string]struct {
		arrange func(s *stage, ack *events.TaskAcked)
		restore events.CheckpointID
		is      error
		says    string
		count   int                   // shares that the worker was told of
		told    events.RestoreFailure // what the log is told first, and then the worker tries again
	}{
		"it was taken by more tasks than there are now": {
			arrange: func(s *stage, ack *events.TaskAcked) {
				s.record(5, task, ack.Handle, false)
				b, err := ack.Handle.Encode(nil)
				s.must(err)
				_, err = s.fenced().Complete(s.Context(), 5, func(cp *store.Checkpoint) error {
					cp.State["task-1"], cp.State["task-2"], cp.State["note"] = json.RawMessage(b), json.RawMessage(b), "no handle"
					return nil
				})
				s.must(err)
			},
			restore: 5, says: "taken by 3 tasks and this job has 2", count: 2,
		},
		"the record is missing": {restore: 4, is: store.ErrNotFound, says: "checkpoint 4", told: events.RestoreRecordMissing},
		"the record is corrupt": {
			arrange: func(s *stage, _ *events.TaskAcked) {
				s.faults.Add(storetest.Fault{Op: storetest.OpLoad, Err: corrupt, Times: -1})
			},
			restore: 3, is: store.ErrCorrupt, says: "flipped", told: events.RestoreRecordCorrupt,
		},
		"the record is open": {
			arrange: func(s *stage, ack *events.TaskAcked) { s.record(5, task, ack.Handle, false) },
			restore: 5, says: "not completed",
		},
		"the record holds another task alone": {
			arrange: func(s *stage, ack *events.TaskAcked) { s.record(5, "task-7", ack.Handle, true) },
			restore: 5, says: "no state of task task-0",
		},
		"a chunk is missing": {
			arrange: func(s *stage, ack *events.TaskAcked) {
				ack.Handle.Chunks[0].Digest = events.Digest(strings.Repeat("ab", 32))
				s.record(5, task, ack.Handle, true)
			},
			restore: 5, is: store.ErrChunkMissing, says: "+pack-0 (abababababab…)", told: events.RestoreChunkMissing,
		},
		"a chunk is corrupt": {
			arrange: func(s *stage, _ *events.TaskAcked) {
				s.faults.Add(storetest.Fault{Op: storetest.OpGetChunk, Err: corrupt, Times: -1})
			},
			restore: 3, is: store.ErrCorrupt, says: "flipped", told: events.RestoreChunkCorrupt,
		},
		"a chunk is of a newer release": {
			arrange: func(s *stage, _ *events.TaskAcked) {
				s.faults.Add(storetest.Fault{Op: storetest.OpGetChunk, Err: store.ErrVersion})
			},
			restore: 3, is: store.ErrVersion,
		},
		"a chunk is not what its name says": {
			arrange: func(s *stage, ack *events.TaskAcked) {
				ref, err := s.store.PutChunk(s.Context(), []byte("no pack"))
				s.must(err)
				ack.Handle.Chunks[0].Digest = events.Digest(ref.Digest)
				s.record(5, task, ack.Handle, true)
			},
			restore: 5, says: "corrupt pack of items: unknown version",
		},
		"an item is missing": {
			arrange: func(s *stage, ack *events.TaskAcked) {
				ref, err := s.store.PutChunk(s.Context(), []byte{1})
				s.must(err)
				ack.Handle.Chunks[0].Digest = events.Digest(ref.Digest)
				s.record(5, task, ack.Handle, true)
			},
			restore: 5, is: engine.ErrMissingItem, says: "missing item",
		},
		"the state is in the ack itself": {
			arrange: func(s *stage, _ *events.TaskAcked) {
				s.record(5, task, events.StateHandle{Inline: []byte(`{"n":1}`)}, true)
			},
			restore: 5, says: "in the ack itself",
		},
		"the store cannot be read": {
			arrange: func(s *stage, _ *events.TaskAcked) { s.faults.Add(storetest.Fault{Op: storetest.OpLoad}) },
			restore: 3, is: storetest.ErrInjected,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				ack := checkpointOf(s, 1, 2)
				if tt.arrange != nil {
					tt.arrange(s, ack)
				}
				j := newJob()
				j.rows = rowsOf(t, 1, 2)
				cfg := j.config()
				cfg.Count = tt.count
				r := s.run(cfg)
				s.admit(tt.restore)
				if tt.told != "" {
					if e := next[*events.TaskRestoreFailed](s); e.Reason != tt.told || e.Checkpoint != tt.restore || e.Attempt != s.attempts {
						t.Errorf("the log is told %+v", e)
					}
					s.admit(tt.restore)
				}
				err := r.wait()
				if n := count[*events.TaskRestoreFailed](s); n > 1 || (n == 1) != (tt.told != "") {
					t.Errorf("the log was told %d times", n)
				}
				if !errors.Is(err, worker.ErrRestore) || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v", err)
				}
				if j.spied().ran.get() {
					t.Error("something was processed")
				}
				if n := count[*events.TaskRestored](s); n != 1 {
					t.Errorf("%d restored, want only that of the first worker", n)
				}
				if p := s.presences(); len(p) > 0 {
					t.Errorf("still alive: %v", p)
				}
			})
		})
	}
}

func TestACommitThatFailsAtTheRestoreEndsTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		checkpointOf(s, 1)
		j := newJob()
		j.rows = rowsOf(t, 1)
		cfg := j.config()
		cfg.Build = func(start worker.Start) (worker.Pipeline, error) {
			p, err := j.build(start)
			j.spied().setRefuse(errShutdown)
			return p, err
		}
		r := s.run(cfg)
		s.admit(3)
		if err := r.wait(); !errors.Is(err, worker.ErrRestore) || !errors.Is(err, errShutdown) {
			t.Error(err)
		}
		if j.spied().ran.get() {
			t.Error("something was processed")
		}
	})
}
