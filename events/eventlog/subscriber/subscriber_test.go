package subscriber_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/subscriber"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ack(id events.EventID) events.Envelope {
	return events.Envelope{ID: id, At: 1, Event: &events.TaskAcked{Epoch: 1, Checkpoint: 1, Task: "t", Attempt: 1}}
}

func newLog(t *testing.T, ids ...events.EventID) *memlog.Log {
	t.Helper()
	l := memlog.New(memlog.Config{Job: "orders"})
	for _, id := range ids {
		if err := l.Publish(t.Context(), ack(id)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func subscribe(t *testing.T, s *subscriber.Subscriber) <-chan *message.Message {
	t.Helper()
	c, err := s.Subscribe(t.Context(), s.Topic())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMessagesSayWhereTheyStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, "a")
		s := subscriber.New(subscriber.Config{Log: l})
		m := <-subscribe(t, s)
		last, _, err := l.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := message.Metadata{"position": last.String(), "kind": "task_acked", "job": "orders"}
		if diff := cmp.Diff(want, m.Metadata); diff != "" {
			t.Error(diff)
		}
		got, err := events.Decode(events.EventID(m.UUID), m.Payload)
		if diff := cmp.Diff(ack("a"), got); diff != "" || err != nil {
			t.Error(err, diff)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if m.Context().Err() == nil {
			t.Error("the message's context outlives its subscription")
		}
	})
}

func TestPoisonIsPassedOverAndAGapIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, "a")
		poison := l.Inject(eventlog.Field{Name: []byte("x"), Value: []byte("\xff")})
		if err := l.Publish(t.Context(), ack("b")); err != nil {
			t.Fatal(err)
		}
		var found []events.Position
		var gaps []events.GapCause
		s := subscriber.New(subscriber.Config{
			Log:      l,
			OnPoison: func(e eventlog.Entry) { found = append(found, e.Position) },
			OnGap:    func(g eventlog.Gap) { gaps = append(gaps, g.Cause) },
		})
		c := subscribe(t, s)
		for _, want := range []string{"a", "b"} {
			m := <-c
			if m.UUID != want {
				t.Errorf("got %s, want %s", m.UUID, want)
			}
			m.Ack()
		}
		l.Drop()
		synctest.Wait()
		if err := l.Publish(t.Context(), ack("c")); err != nil {
			t.Fatal(err)
		}
		if m := <-c; m.UUID != "c" {
			t.Errorf("got %s, want c", m.UUID)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if !cmp.Equal(found, []events.Position{poison}) || !cmp.Equal(gaps, []events.GapCause{events.GapDeleted}) {
			t.Errorf("told of poison %v and gaps %v", found, gaps)
		}
	})
}

func TestARefusedMessageComesAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subscriber.New(subscriber.Config{Log: newLog(t, "a", "b")})
		c := subscribe(t, s)
		begin := time.Now()
		for range 3 {
			m := <-c
			if m.UUID != "a" {
				t.Fatalf("got %s before a was acked", m.UUID)
			}
			m.Nack()
		}
		(<-c).Ack()
		if took := time.Since(begin); took < 3*subscriber.DefaultNackPause {
			t.Errorf("three refusals took %v", took)
		}
		if m := <-c; m.UUID != "b" {
			t.Errorf("got %s, want b", m.UUID)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestItEnds(t *testing.T) {
	for name, tc := range map[string]func(cancel func(), s *subscriber.Subscriber){
		"with its context": func(cancel func(), _ *subscriber.Subscriber) { cancel() },
		"with Close":       func(_ func(), s *subscriber.Subscriber) { _ = s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := subscriber.New(subscriber.Config{Log: newLog(t, "a"), OnError: func(err error) { t.Error(err) }})
				c, err := s.Subscribe(ctx, s.Topic())
				if err != nil {
					t.Fatal(err)
				}
				<-c // never acked
				tc(cancel, s)
				if m, ok := <-c; ok {
					t.Errorf("got %s", m.UUID)
				}
				_ = s.Close()
				if _, err := s.Subscribe(t.Context(), s.Topic()); !errors.Is(err, subscriber.ErrClosed) {
					t.Errorf("subscribe after Close = %v", err)
				}
			})
		})
	}
}

func TestAnotherTopicIsRefused(t *testing.T) {
	s := subscriber.New(subscriber.Config{Log: newLog(t)})
	if _, err := s.Subscribe(t.Context(), "orders"); err == nil {
		t.Error("subscribed")
	}
}

func TestItRunsInARouterWithMiddleware(t *testing.T) {
	l := newLog(t, "a", "b", "c")
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	router.AddMiddleware(middleware.Recoverer)
	s := subscriber.New(subscriber.Config{Log: l, NackPause: time.Millisecond})
	got := make(chan string, 8) // sent by the handler, one for each call; more than there are
	failed := false
	router.AddConsumerHandler("mirror", s.Topic(), s, func(m *message.Message) error {
		if m.UUID == "b" && !failed {
			failed = true
			panic("once")
		}
		got <- m.UUID
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // one send when the router has ended
	go func() { done <- router.Run(ctx) }()
	for _, want := range []string{"a", "b", "c"} {
		if id := <-got; id != want {
			t.Errorf("got %s, want %s", id, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
