package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/worker"
)

func TestSeveralPendingCheckpointsAreAnsweredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.pend(2, 3, 5)
		for _, want := range []events.CheckpointID{2, 3, 5} {
			if ack := next[*events.TaskAcked](s); ack.Checkpoint != want {
				t.Errorf("acked %s, want %s", ack.Checkpoint, want)
			}
		}
		s.control.LatestCompleted = 3 // 2 was subsumed
		s.pend(5)
		synctest.Wait()
		s.pend() // 5 failed
		synctest.Wait()
		completed, failed, cuts := j.spied().told()
		if !slices.Equal(completed, []int64{3}) || !slices.Equal(failed, []int64{5}) || !slices.Equal(cuts, []int64{2, 3, 5}) {
			t.Errorf("completed %v, failed %v, cuts %v", completed, failed, cuts)
		}
	})
}

func TestNoticesAreRepeatedUntilThePipelineHasTakenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.pend(2, 3)
		next[*events.TaskAcked](s)
		s.complete(next[*events.TaskAcked](s)) // 3
		j.spied().setRefuse(errStubborn)
		time.Sleep(5 * time.Second)
		j.spied().setRefuse(nil)
		time.Sleep(5 * time.Second)
		completed, failed, _ := j.spied().told()
		if n := len(completed); n < 2 || n > 7 || slices.ContainsFunc(completed, func(id int64) bool { return id != 3 }) || len(failed) > 0 {
			t.Errorf("completed %v, failed %v", completed, failed)
		}
		s.pend(4)
		next[*events.TaskAcked](s)
		j.spied().setRefuse(errStubborn)
		s.pend()
		time.Sleep(5 * time.Second)
		j.spied().setRefuse(nil)
		time.Sleep(5 * time.Second)
		if _, failed, _ := j.spied().told(); len(failed) < 2 || len(failed) > 7 || failed[0] != 4 {
			t.Errorf("failed %v", failed)
		}
	})
}

func TestACommitThatCanNeverSucceedEndsTheWorker(t *testing.T) {
	for _, cause := range []error{engine.ErrOutputExists, engine.ErrLost, worker.ErrCommit} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			j := newJob()
			r := s.start(j.config())
			s.pend(2)
			ack := next[*events.TaskAcked](s)
			j.spied().setRefuse(fmt.Errorf("link the output: %w", cause))
			s.control.Pending = []eventlog.PendingCheckpoint{{ID: 3, Type: events.TypeCheckpoint, Epoch: s.term.Epoch()}}
			s.record(2, task, ack.Handle, true)
			s.control.LatestCompleted = 2
			s.write()
			err := r.wait()
			if !errors.Is(err, worker.ErrCommit) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "checkpoint 2") {
				t.Errorf("got %v", err)
			}
			if p := s.presences(); len(p) > 0 {
				t.Errorf("still alive: %v", p)
			}
		})
	}
}

func TestACommitThatFailsForAWhileIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		j := newJob()
		cfg := j.config()
		cfg.Logger = zerolog.New(&out)
		s.start(cfg)
		s.pend(2)
		ack := next[*events.TaskAcked](s)
		j.spied().setRefuse(errStubborn)
		s.complete(ack)
		time.Sleep(time.Minute)
		j.spied().setRefuse(nil)
		time.Sleep(5 * time.Second)
		said := slices.DeleteFunc(out.messages(t), func(m string) bool { return !strings.HasPrefix(m, "commit") })
		if want := []string{"commit; it is tried again until it is done", "commit: done after all", "committed"}; !slices.Equal(said, want) {
			t.Errorf("said %q", said)
		}
	})
}

// A checkpoint that was completed by hand without this task's ack covers nothing of the task.
func TestOnlyOwnCutsAreCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.pend(2)
		next[*events.TaskAcked](s)
		s.control.LatestCompleted = 9
		s.pend()
		synctest.Wait()
		if completed, failed, _ := j.spied().told(); len(completed) > 0 || !slices.Equal(failed, []int64{2}) {
			t.Errorf("completed %v, failed %v", completed, failed)
		}
	})
}

// The answer to an ack was lost, and its checkpoint completed: the pipeline must hear of it.
func TestAnAckOfUnknownOutcomeMayHaveCompletedItsCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
			if op == memlog.OpPublish {
				return memlog.Hidden(op)
			}
			return memlog.Outcome{}
		})
		s.pend(2)
		s.complete(next[*events.TaskAcked](s))
		synctest.Wait()
		if completed, failed, _ := j.spied().told(); !slices.Equal(completed, []int64{2}) || len(failed) > 0 {
			t.Errorf("completed %v, failed %v", completed, failed)
		}
	})
}

func TestUnchangedStateIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		large := make([]byte, 100_000)
		for i := range large {
			large[i] = byte(i * i >> 7)
		}
		j.extra = func(g *engine.Graph) {
			engine.RegisterSnapshotSource(g, "large", func() ([]byte, error) { return large, nil }, func([]byte) error { return nil })
		}
		s.start(j.config())
		j.feed.c <- 1
		synctest.Wait()
		var acks []*events.TaskAcked
		for id := range events.CheckpointID(3) {
			if id == 2 { // a small item changes, the large one does not
				j.feed.c <- 2
				synctest.Wait()
			}
			s.pend(id)
			ack := next[*events.TaskAcked](s)
			s.complete(ack)
			acks = append(acks, ack)
		}
		first, second, third := acks[0], acks[1], acks[2]
		if len(first.Handle.Chunks) != 2 || first.Measures.Bytes != first.Handle.Bytes() {
			t.Errorf("first %+v", first)
		}
		if !slices.EqualFunc(first.Handle.Chunks, second.Handle.Chunks, func(a, b events.ChunkRef) bool {
			return a.Digest == b.Digest && a.Name == b.Name
		}) || second.Measures.Bytes != 0 {
			t.Errorf("unchanged state was cut into other chunks: %+v, %+v", first, second)
		}
		var changed []string
		for i, c := range third.Handle.Chunks {
			if c.Digest != first.Handle.Chunks[i].Digest {
				changed = append(changed, c.Name)
				if third.Measures.Bytes != c.Bytes {
					t.Errorf("wrote %d bytes, the changed chunk has %d", third.Measures.Bytes, c.Bytes)
				}
			}
		}
		if !slices.Equal(changed, []string{"+pack-0"}) {
			t.Errorf("changed %v", changed)
		}
	})
}
