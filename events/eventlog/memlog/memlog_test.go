package memlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/logtest"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContractInVirtualTime(t *testing.T) {
	logtest.Exercise(t, synctest.Test, func(*testing.T) logtest.Server {
		l := memlog.New(memlog.Config{Job: "orders"})
		return logtest.Server{Job: l, Other: l, Inject: l.Inject, Drop: l.Drop, DropToken: l.DropToken, TrimTo: l.TrimTo}
	})
}

func ack(id events.EventID) events.Envelope {
	return events.Envelope{ID: id, At: 1, Event: &events.TaskAcked{Epoch: 1, Checkpoint: 1, Task: "t", Attempt: 1}}
}

func candidate() eventlog.Candidate {
	return eventlog.Candidate{
		Instance: "a", TTL: time.Second, Policy: events.Policy{Count: 1, MaxConcurrent: 1, Retain: 1, QueueLimit: 1},
	}
}

// faults gives each call the next outcome of the list for its op; then all goes well.
func faults(list ...func(memlog.Op) memlog.Outcome) func(context.Context, memlog.Op) memlog.Outcome {
	return func(_ context.Context, op memlog.Op) memlog.Outcome {
		if len(list) == 0 || op == memlog.OpRead {
			return memlog.Outcome{}
		}
		next := list[0]
		list = list[1:]
		return next(op)
	}
}

func ids(t *testing.T, l *memlog.Log) (ids []events.EventID) {
	t.Helper()
	for b, err := range l.Read(t.Context(), events.Start, events.End) {
		if errors.Is(err, eventlog.ErrNoLog) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			ids = append(ids, e.Envelope.ID)
		}
	}
	return ids
}

func TestPublishRepeatsAnUnknownOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		fault func(memlog.Op) memlog.Outcome
		want  int
	}{
		"that has happened":     {memlog.Hidden, 2},
		"that has not happened": {memlog.Lost, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memlog.New(memlog.Config{Job: "orders", Fault: faults(tc.fault)})
				if err := l.Publish(t.Context(), ack("e")); err != nil {
					t.Fatal(err)
				}
				if got := ids(t, l); len(got) != tc.want || got[0] != "e" || got[len(got)-1] != "e" {
					t.Errorf("log has %v", got)
				}
			})
		})
	}
}

func TestPublishEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memlog.New(memlog.Config{Job: "orders", Fault: func(context.Context, memlog.Op) memlog.Outcome {
			return memlog.Lost(memlog.OpPublish)
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Publish(ctx, ack("e")); !errors.Is(err, eventlog.ErrUnknownOutcome) {
			t.Errorf("publish = %v", err)
		}
	})
}

func TestAppendDoesNotRepeatAnUnknownOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		fault func(memlog.Op) memlog.Outcome
		want  int
	}{
		"that has happened":     {memlog.Hidden, 2},
		"that has not happened": {memlog.Lost, 1},
	} {
		t.Run(name, func(t *testing.T) {
			good := func(memlog.Op) memlog.Outcome { return memlog.Outcome{} }
			l := memlog.New(memlog.Config{Job: "orders", Fault: faults(good, tc.fault)})
			term, err := l.Campaign(t.Context(), candidate())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := term.Append(t.Context(), ack("e")); !errors.Is(err, eventlog.ErrUnknownOutcome) {
				t.Errorf("append = %v", err)
			}
			if got := ids(t, l); len(got) != tc.want {
				t.Errorf("log has %v", got)
			}
		})
	}
}

func TestRewindShowsAsAFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memlog.New(memlog.Config{Job: "orders"})
		if err := l.Publish(t.Context(), ack("a"), ack("b"), ack("c")); err != nil {
			t.Fatal(err)
		}
		var at []events.Position
		var gap *eventlog.Gap
		var again []events.EventID
		for b, err := range l.Follow(t.Context(), events.Start, eventlog.FollowOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Gap != nil {
				gap = b.Gap
			}
			for _, e := range b.Entries {
				at = append(at, e.Position)
				if gap != nil {
					again = append(again, e.Envelope.ID)
				}
			}
			if len(at) == 3 && gap == nil {
				l.Rewind(at[0])
			}
			if len(again) > 0 {
				break
			}
		}
		if gap == nil || *gap != (eventlog.Gap{After: at[2], Before: at[0], Cause: events.GapFailover}) {
			t.Errorf("gap = %+v", gap)
		}
		if len(again) != 1 || again[0] != "a" {
			t.Errorf("rebuilt from %v", again)
		}
	})
}

func TestFollowRetriesAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memlog.New(memlog.Config{Job: "orders", Fault: faults(memlog.Lost, memlog.Lost)})
		told := 0
		opts := eventlog.FollowOptions{OnRetry: func(error, time.Duration) { told++ }}
		for _, err := range l.Follow(t.Context(), events.Start, opts) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if told != 2 {
			t.Errorf("told %d times, want 2", told)
		}
	})
}
