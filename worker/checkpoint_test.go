package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store/storetest"
	"github.com/tidemark-stream/tidemark/worker"
)

func TestAnAckNamesWhatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		r := s.start(j.config())
		for v := range 5 {
			j.feed.c <- v
		}
		synctest.Wait()
		s.control.Pending = []eventlog.PendingCheckpoint{{
			ID: 7, Type: events.TypeSavepoint, Epoch: s.term.Epoch(), JoiningEvent: "high-tide",
			TriggeredAt: time.Now().UnixMilli() + 5000, // by a clock that is ahead
		}}
		s.write()
		ack := next[*events.TaskAcked](s)
		if ack.Checkpoint != 7 || ack.Task != task || ack.Attempt != 1 || ack.Epoch != s.term.Epoch() || ack.JoiningEvent != "high-tide" {
			t.Errorf("acked %+v", ack)
		}
		if m := ack.Measures; m.Records != 5 || m.Bytes != ack.Handle.Bytes() || m.Bytes == 0 || m.StartDelay != 0 {
			t.Errorf("measures %+v of %+v", m, ack.Handle)
		}
		for _, c := range ack.Handle.Chunks {
			if _, err := s.store.GetChunk(t.Context(), string(c.Digest)); err != nil {
				t.Error(err)
			}
		}
		if r.ended() {
			t.Error(r.err)
		}
	})
}

// stubborn is state that cannot be serialised while refuses is set.
type stubborn struct{ n int64 }

var refuses atomic.Bool

var errStubborn = errors.New("not today")

func (s stubborn) MarshalBinary() ([]byte, error) {
	if refuses.Load() {
		return nil, errStubborn
	}
	return []byte{byte(s.n)}, nil
}

func (s *stubborn) UnmarshalBinary(b []byte) error { s.n = int64(b[0]); return nil }

func TestAWorkerThatCannotSnapshotDeclinesWithTheReason(t *testing.T) {
	tests := map[string]struct {
		arrange func(s *stage, j *job, cfg *worker.Config)
		feed    int // the record that is fed last
		trouble func(s *stage)
		reason  events.DeclineReason
		says    string
		after   time.Duration // when the decline comes
		ends    bool          // Run ends with an error
	}{
		"the cut fails": {
			arrange: func(_ *stage, j *job, _ *worker.Config) {
				j.extra = func(g *engine.Graph) {
					engine.RegisterSnapshotSource(g, "mine", func() ([]byte, error) { return nil, errStubborn }, func([]byte) error { return nil })
				}
			},
			reason: events.DeclinedCutFailed, says: "mine: not today",
		},
		"a record never ends": {
			arrange: func(s *stage, j *job, cfg *worker.Config) {
				cfg.CutTimeout = 3 * time.Second
				j.each = func(v int) error {
					if v == 13 {
						<-s.Context().Done()
					}
					return nil
				}
			},
			feed: 13, reason: events.DeclinedLimitExceeded, says: "no gap between two records within 3s", after: 3 * time.Second,
		},
		"an item cannot be serialised": {
			arrange: func(_ *stage, j *job, _ *worker.Config) {
				j.extra = func(g *engine.Graph) {
					in := engine.Map(engine.From[int](g, engine.Slice([]int{1})), func(v int) stubborn { return stubborn{int64(v)} })
					sums := engine.Reduce(engine.KeyBy(in, func(stubborn) int { return 0 }), func(a, _ stubborn) stubborn { return a })
					engine.ForEach(sums, func(engine.Context, stubborn) error { return nil })
				}
			},
			trouble: func(s *stage) { refuses.Store(true); s.Cleanup(func() { refuses.Store(false) }) },
			reason:  events.DeclinedEncodeFailed, says: "not today",
		},
		"a chunk cannot be stored": {
			trouble: func(s *stage) { s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk}) },
			reason:  events.DeclinedUploadFailed, says: "store +pack-0: injected fault",
		},
		"storing takes too long": {
			arrange: func(_ *stage, _ *job, cfg *worker.Config) { cfg.UploadTimeout = 7 * time.Second },
			trouble: func(s *stage) { s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang}) },
			reason:  events.DeclinedLimitExceeded, says: "not stored within 7s", after: 7 * time.Second,
		},
		"the state is too large": {
			arrange: func(_ *stage, j *job, cfg *worker.Config) {
				cfg.MaxState = 999
				j.extra = func(g *engine.Graph) {
					engine.RegisterSnapshotSource(g, "mine", func() ([]byte, error) { return make([]byte, 1000), nil }, func([]byte) error { return nil })
				}
			},
			reason: events.DeclinedLimitExceeded, says: "larger than 999 bytes",
		},
		"the pipeline has failed": {
			arrange: func(_ *stage, j *job, _ *worker.Config) {
				j.each = func(v int) error {
					if v == 13 {
						return errStubborn
					}
					return nil
				}
			},
			trouble: func(s *stage) { // the cut hangs in the upload when the function fails
				s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang})
			},
			feed: -13, reason: events.DeclinedOther, says: "map-1: map function failed at record 2 of source-1", ends: true,
		},
		"the log refuses the ack": {
			trouble: func(s *stage) {
				var once atomic.Bool
				s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
					if op == memlog.OpPublish && once.CompareAndSwap(false, true) {
						return memlog.Refuse(errStubborn)
					}
					return memlog.Outcome{}
				})
			},
			reason: events.DeclinedOther, says: "publish task_acked of task task-0: not today",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				j := newJob()
				cfg := j.config()
				if tt.arrange != nil {
					tt.arrange(s, j, &cfg)
				}
				r := s.start(cfg)
				j.feed.c <- 1
				if tt.feed > 0 {
					j.feed.c <- tt.feed
				}
				synctest.Wait()
				if tt.trouble != nil {
					tt.trouble(s)
				}
				began := time.Now()
				s.pend(2)
				if tt.feed < 0 {
					synctest.Wait()
					j.feed.c <- -tt.feed
				}
				no := next[*events.TaskDeclined](s)
				if no.Reason != tt.reason || !strings.Contains(no.Text, tt.says) {
					t.Errorf("declined as %s: %s", no.Reason, no.Text)
				}
				if no.Checkpoint != 2 || no.Task != task || no.Attempt != 1 || no.Epoch != s.term.Epoch() {
					t.Errorf("declined %+v", no)
				}
				if after := time.Since(began); after < tt.after || after > tt.after+time.Second {
					t.Errorf("declined after %s", after)
				}
				if n := count[*events.TaskAcked](s); n > 0 {
					t.Error("acked as well")
				}
				if tt.ends {
					var op *engine.OperatorError
					if err := r.wait(); !errors.As(err, &op) || op.Operator != "map-1" || op.Record != 2 || op.Offset != 1 {
						t.Error(err)
					}
					return
				}
				if synctest.Wait(); r.ended() {
					t.Fatalf("the worker ended: %v", r.err)
				}
			})
		})
	}
}

// After a decline the worker answers the next checkpoint, and the pipeline hears of the one that failed.
func TestADeclineHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk})
		s.pend(2)
		next[*events.TaskDeclined](s)
		s.pend(3)
		if ack := next[*events.TaskAcked](s); ack.Checkpoint != 3 {
			t.Errorf("acked %s", ack.Checkpoint)
		}
		synctest.Wait()
		if _, failed, _ := j.spied().told(); !slices.Equal(failed, []int64{2}) {
			t.Errorf("failed %v", failed)
		}
	})
}

func TestACheckpointThatIsPendingNoMoreIsGivenUpQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		hang := s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang})
		s.pend(2)
		<-hang.Entered()
		s.pend()
		synctest.Wait()
		s.pend(3)
		if ack := next[*events.TaskAcked](s); ack.Checkpoint != 3 {
			t.Errorf("acked %s", ack.Checkpoint)
		}
		synctest.Wait()
		if n := count[*events.TaskDeclined](s) + count[*events.TaskAcked](s); n != 1 {
			t.Errorf("%d answers, want the ack of 3 alone", n)
		}
		if _, failed, _ := j.spied().told(); !slices.Equal(failed, []int64{2}) {
			t.Errorf("failed %v", failed)
		}
	})
}

func TestAWorkerThatWasHeldUpStartsOnlyWhatIsStillPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		j := newJob()
		s.start(j.config())
		hang := s.faults.Add(storetest.Fault{Op: storetest.OpPutChunk, When: storetest.Hang})
		s.setFault(func(_ context.Context, op memlog.Op) memlog.Outcome {
			if op == memlog.OpLatestControl {
				return memlog.Lost(op) // it sees nothing of what follows
			}
			return memlog.Outcome{}
		})
		s.pend(0)
		for id := range events.CheckpointID(100) {
			s.pend(id)
		}
		s.pend(100)
		time.Sleep(time.Second)
		s.setFault(nil)
		hang.Remove()
		if ack := next[*events.TaskAcked](s); ack.Checkpoint != 100 {
			t.Errorf("acked %s", ack.Checkpoint)
		}
		if _, _, cuts := j.spied().told(); !slices.Equal(cuts, []int64{100}) {
			t.Errorf("cut %v", cuts)
		}
	})
}
