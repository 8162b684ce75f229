package redislog_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/events/eventlog/subscriber"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// TestAStockPublisherCanAck publishes an ack with watermill-redisstream as it is shipped, metadata and all.
func TestAStockPublisherCanAck(t *testing.T) {
	s := testredis.Start(t)
	pub, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: s.Client(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	payload, err := ack("a").Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, decorated := message.NewMessage("a", payload), message.NewMessage("a", payload)
	decorated.Metadata.Set("traceparent", "00-1-2-03")
	if err := pub.Publish(eventlog.KeysOf(job).Log(), plain, decorated); err != nil {
		t.Fatal(err)
	}
	var got []events.Envelope
	for b, err := range open(t, client(t, s.Addr())).Read(t.Context(), events.Start, events.End) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			got = append(got, e.Envelope)
		}
	}
	if diff := cmp.Diff([]events.Envelope{ack("a"), ack("a")}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAStockSubscriberCanListen has the subscriber of watermill-redisstream hear all that Campaign, Append and Publish write.
func TestAStockSubscriberCanListen(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	want := writeSome(t, l)
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: s.Client(t), ConsumerGroup: "notices", OldestId: "0", BlockTime: 100 * time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Close() }()
	hear(t, sub, eventlog.KeysOf(job).Log(), want)
}

func TestOurSubscriberHearsTheSame(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	want := writeSome(t, l)
	sub := subscriber.New(subscriber.Config{Log: l})
	defer func() { _ = sub.Close() }()
	hear(t, sub, sub.Topic(), want)
}

func writeSome(t *testing.T, l *redislog.Log) []events.Envelope {
	t.Helper()
	c := candidate("a")
	c.Event = "start"
	term, err := l.Campaign(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Append(t.Context(), ack("a"), ack("b")); err != nil {
		t.Fatal(err)
	}
	publish(t, l, "c")
	return []events.Envelope{c.Started(1), ack("a"), ack("b"), ack("c")}
}

func hear(t *testing.T, sub message.Subscriber, topic string, want []events.Envelope) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	messages, err := sub.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	var got []events.Envelope
	for range want {
		m, ok := <-messages
		if !ok {
			t.Fatalf("it ended after %d messages", len(got))
		}
		env, err := events.Decode(events.EventID(m.UUID), m.Payload)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, env)
		m.Ack()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEntriesHaveTheirFieldsInOrder looks at the bytes, since stock marshallers shuffle them.
func TestEntriesHaveTheirFieldsInOrder(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	writeSome(t, l)
	for range 20 {
		publish(t, l, "d")
	}
	raw, err := s.Client(t).Do(t.Context(), "XRANGE", eventlog.KeysOf(job).Log(), "-", "+").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range raw {
		entry, _ := e.([]any)
		fields, _ := entry[1].([]any)
		if len(fields) != 4 || fields[0] != events.FieldID || fields[2] != events.FieldPayload {
			t.Fatalf("entry %v has fields %v", entry[0], fields)
		}
	}
	if len(raw) != 24 {
		t.Errorf("%d entries", len(raw))
	}
}
