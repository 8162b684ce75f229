package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store/storetest"
	"github.com/tidemark-stream/tidemark/worker"
)

// closing is a worker that was told to stop while it stores checkpoint 2, with 3 pending behind.
type closing struct {
	*stage
	*running
	job  *job
	hang *storetest.Injection
	told time.Time
}

func newClosing(s *stage) *closing {
	s.Helper()
	c := &closing{stage: s, job: newJob()}
	cfg := c.job.config()
	cfg.DrainTimeout, cfg.UploadTimeout = time.Minute, time.Hour
	c.running = s.start(cfg)
	c.hang = s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang})
	s.pend(2, 3)
	<-c.hang.Entered()
	synctest.Wait()
	c.told = time.Now()
	c.cancel(errShutdown)
	synctest.Wait()
	return c
}

func (c *closing) declines(want ...events.CheckpointID) {
	c.Helper()
	var got []events.CheckpointID
	for range count[*events.TaskDeclined](c.stage) {
		no := next[*events.TaskDeclined](c.stage)
		if no.Reason != events.DeclinedClosing || no.Text != "the worker is shutting down" {
			c.Errorf("declined %+v", no)
		}
		got = append(got, no.Checkpoint)
	}
	if !slices.Equal(got, want) {
		c.Errorf("declined %v, want %v", got, want)
	}
}

func TestAShutdownWaitsForTheCutThatIsBeingStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClosing(newStage(t))
		for range 10 {
			time.Sleep(5 * time.Second)
			if p := c.presences()[task]; p.Instance != c.admitted.Instance || p.Phase != "stopping" && p.Phase != "running" {
				t.Fatalf("while it drains others see %+v", p)
			}
		}
		if c.ended() {
			t.Fatal("it did not wait")
		}
		c.hang.Remove()
		if err := c.wait(); err != nil {
			t.Error(err)
		}
		if ack := next[*events.TaskAcked](c.stage); ack.Checkpoint != 2 {
			t.Errorf("acked %s", ack.Checkpoint)
		}
		c.declines(3)
		if p := c.presences(); len(p) > 0 {
			t.Errorf("still alive: %v", p)
		}
	})
}

func TestAShutdownWaitsNoLongerThan(t *testing.T) {
	tests := map[string]struct {
		act      func(c *closing)
		within   time.Duration
		declines []events.CheckpointID
		err      error
		ops      []memlog.Op
	}{
		"the drain timeout": {
			act: func(*closing) {}, within: time.Minute, declines: []events.CheckpointID{2, 3},
		},
		"anybody waits for the checkpoint": {
			act: func(c *closing) { c.pend(3) }, within: 0, declines: []events.CheckpointID{3},
		},
		"the second signal": {
			act: func(c *closing) { c.w.Hurry(); c.w.Hurry() }, within: 0, declines: []events.CheckpointID{2, 3},
		},
		"the task is its own": {
			act: func(c *closing) { c.supersede() }, within: 4 * time.Second, err: worker.ErrSuperseded,
		},
		"it counts as alive": {
			act: func(c *closing) { c.failing(memlog.OpBeat) }, within: 10 * time.Second,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClosing(newStage(t))
				tt.act(c)
				if err := c.wait(); !errors.Is(err, tt.err) {
					t.Errorf("ended with %v, want %v", err, tt.err)
				}
				if d := time.Since(c.told); d > tt.within {
					t.Errorf("ended after %s, want within %s", d, tt.within)
				}
				c.setFault(nil)
				c.declines(tt.declines...)
				if n := count[*events.TaskAcked](c.stage); n > 0 {
					t.Error("acked as well")
				}
			})
		})
	}
}

// A shutdown in every other state ends at once, with nil.
func TestAShutdownEndsWhateverTheWorkerDoes(t *testing.T) {
	tests := map[string]func(s *stage) *running{
		"waiting for a coordinator": func(s *stage) *running { return s.run(newJob().config()) },
		"announcing itself to a log that does not answer": func(s *stage) *running {
			s.failing(memlog.OpPublish, memlog.OpBeat, memlog.OpAssignment)
			return s.run(newJob().config())
		},
		"restoring": func(s *stage) *running {
			checkpointOf(s, 1)
			j := newJob()
			hang := s.faults.Add(storetest.Fault{Op: storetest.OpGetChunk, When: storetest.Hang})
			r := s.run(j.config())
			s.admit(3)
			<-hang.Entered()
			return r
		},
		"saying that it has restored": func(s *stage) *running {
			r := s.run(newJob().config())
			s.failing(memlog.OpPublish)
			time.Sleep(time.Second)
			s.setFault(nil)
			reg := next[*events.TaskRegistered](s)
			s.failing(memlog.OpPublish)
			s.give(reg.Instance, events.NoCheckpoint)
			return r
		},
		"processing": func(s *stage) *running { return s.start(newJob().config()) },
		"blocked at a full queue": func(s *stage) *running {
			j := newJob()
			gate := make(chan struct{})
			j.each = func(int) error { <-gate; return nil }
			r := s.start(j.config())
			go func() {
				for {
					select {
					case j.feed.c <- 1:
					case <-s.Context().Done():
						return
					}
				}
			}()
			synctest.Wait()
			time.AfterFunc(2*time.Second, func() { close(gate) })
			return r
		},
		"lapsed and looking around": func(s *stage) *running {
			r := s.start(newJob().config())
			s.failing(memlog.OpBeat, memlog.OpPresences)
			time.Sleep(30 * time.Second)
			return r
		},
		"waiting for the last checkpoint": func(s *stage) *running {
			j := newJob()
			r := s.start(j.config())
			close(j.feed.c)
			next[*events.CheckpointRequested](s)
			return r
		},
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				r := arrange(s)
				time.Sleep(time.Second)
				began := time.Now()
				r.cancel(errShutdown)
				if err := r.wait(); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d > 4*time.Second { // of last words
					t.Errorf("ended after %s", d)
				}
			})
		})
	}
}

// The log is away for the whole shutdown: last words are bounded.
func TestLastWordsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		r := s.start(newJob().config())
		s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
			if op == memlog.OpPublish {
				return memlog.Lost(op)
			}
			return memlog.Outcome{}
		})
		s.pend(2, 3, 4)
		time.Sleep(time.Second)
		began := time.Now()
		r.cancel(errShutdown)
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > 35*time.Second || d < 3*time.Second {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestATaskFinishesWithACompletedCheckpointOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		j.feed.c <- 1
		s.pend(2)
		before := next[*events.TaskAcked](s) // cut before the end of input
		close(j.feed.c)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if n := count[*events.CheckpointRequested](s); n > 0 {
			t.Errorf("%d requests while a checkpoint is pending", n)
		}
		s.complete(before)
		request := next[*events.CheckpointRequested](s)
		if request.Type != events.TypeCheckpoint || request.Cause != "end of input" || !strings.Contains(request.By, "task-0") {
			t.Errorf("asked %+v", request)
		}
		if r.ended() || count[*events.TaskFinished](s) > 0 {
			t.Fatal("finished with a checkpoint that was cut before the end")
		}
		s.write() // the first was refused
		again := next[*events.CheckpointRequested](s)
		if again.Request == request.Request {
			t.Error("the same request, which is answered already")
		}
		s.pend(3)
		failed := next[*events.TaskAcked](s)
		s.pend() // another task declined
		next[*events.CheckpointRequested](s)
		s.pend(failed.Checkpoint + 1)
		last := next[*events.TaskAcked](s)
		if r.ended() {
			t.Fatal("ended before its end state was in a completed checkpoint")
		}
		s.complete(last)
		finished := next[*events.TaskFinished](s)
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if finished.Checkpoint != 4 || finished.Attempt != 1 || finished.Task != task {
			t.Errorf("finished %+v", finished)
		}
		if completed, notices, _ := j.spied().told(); !slices.Equal(completed, []int64{2, 4}) || !slices.Equal(notices, []int64{3}) {
			t.Errorf("completed %v, failed %v", completed, notices)
		}
	})
}

// An end state whose commit fails is not finished; the commit is repeated.
func TestATaskFinishesOnlyOnceItsEndIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		close(j.feed.c)
		next[*events.CheckpointRequested](s)
		s.pend(0)
		ack := next[*events.TaskAcked](s)
		j.spied().setRefuse(errStubborn)
		s.complete(ack)
		time.Sleep(10 * time.Second)
		if r.ended() || count[*events.TaskFinished](s) > 0 {
			t.Fatal("finished without the commit")
		}
		j.spied().setRefuse(nil)
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if f := next[*events.TaskFinished](s); f.Checkpoint != 0 {
			t.Errorf("finished %+v", f)
		}
	})
}

// The input had ended in the cut that is restored: one more checkpoint, of this attempt, and the task has finished.
func TestARestoredWorkerWhoseInputHadEndedFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		first := newJob()
		r := s.start(first.config())
		first.feed.c <- 7
		close(first.feed.c)
		next[*events.CheckpointRequested](s)
		s.pend(0)
		ack := next[*events.TaskAcked](s)
		s.record(0, task, ack.Handle, true) // completed, and the worker dies before it learns of it
		r.cancel(errShutdown)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		s.control = eventlog.Control{LatestCompleted: 0, TasksVersion: s.control.TasksVersion}
		second := newJob()
		second.rows = first.rows
		again := s.run(second.config())
		s.admit(0)
		next[*events.CheckpointRequested](s)
		if count[*events.TaskFinished](s) > 0 {
			t.Fatal("finished with the ack of another attempt")
		}
		s.pend(1)
		s.complete(next[*events.TaskAcked](s))
		if err := again.wait(); err != nil {
			t.Error(err)
		}
		if f := next[*events.TaskFinished](s); f.Checkpoint != 1 || f.Attempt != 2 {
			t.Errorf("finished %+v", f)
		}
		if rows := second.rows.All(); !slices.Equal(rows, []int{7}) {
			t.Errorf("rows %v", rows)
		}
	})
}
