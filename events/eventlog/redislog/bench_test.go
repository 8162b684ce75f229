package redislog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

const (
	benchEntries = 100_000
	stockEntries = 5_000 // the stock subscriber needs a round trip for each
)

// bench is a log with realistic acks: a chunk each, some measures, about 330 bytes.
type bench struct {
	client *redis.Client
	log    *redislog.Log
	term   eventlog.Term
	first  events.Position
	end    events.Position
}

func realAck(i int) events.Envelope {
	return events.Envelope{ID: eventlog.NewEventID(), Job: job, At: 1764453600000 + int64(i), Event: &events.TaskAcked{
		Epoch: 3, Checkpoint: events.CheckpointID(i / 100), Task: events.TaskID(fmt.Sprint("t-", i%100)), Attempt: 2,
		Handle: events.StateHandle{Chunks: []events.ChunkRef{{
			Name: "window-1", Digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Bytes: 4096,
		}}},
		Measures: events.Measures{Sync: 3, Async: 17, Bytes: 4096, Records: 12345},
	}}
}

func newBench(b *testing.B, n int) *bench {
	b.Helper()
	s := testredis.Start(b)
	c := client(b, s.Addr())
	l := open(b, c)
	term, err := l.Campaign(b.Context(), candidate("a"))
	if err != nil {
		b.Fatal(err)
	}
	r := &bench{client: c, log: l, term: term, first: term.Started(), end: term.Started()}
	for i := 0; i < n; i += 500 {
		var envs []events.Envelope
		for j := range 500 {
			envs = append(envs, realAck(i+j))
		}
		at, err := term.Append(b.Context(), envs...)
		if err != nil {
			b.Fatal(err)
		}
		r.end = at[len(at)-1]
	}
	return r
}

// rawRead takes n entries by go-redis, COUNT 512, undecoded.
func (r *bench) rawXRead(b *testing.B, n int) {
	cursor := r.first.String()
	for n > 0 {
		got, err := r.client.XRead(b.Context(), &redis.XReadArgs{
			Streams: []string{eventlog.KeysOf(job).Log(), cursor}, Count: 512, Block: -1,
		}).Result()
		if err != nil {
			b.Fatal(err)
		}
		page := got[0].Messages
		n, cursor = n-len(page), page[len(page)-1].ID
	}
}

func (r *bench) rawXRange(b *testing.B, n int) {
	cursor := r.first.Next().String()
	for n > 0 {
		page, err := r.client.XRangeN(b.Context(), eventlog.KeysOf(job).Log(), cursor, "+", 512).Result()
		if err != nil {
			b.Fatal(err)
		}
		n, cursor = n-len(page), "("+page[len(page)-1].ID
	}
}

func (r *bench) follow(b *testing.B, n int) {
	for batch, err := range r.log.Follow(b.Context(), r.first, eventlog.FollowOptions{}) {
		if err != nil {
			b.Fatal(err)
		}
		if n -= len(batch.Entries); n <= 0 {
			return
		}
	}
}

func (r *bench) read(b *testing.B, n int) {
	for batch, err := range r.log.Read(b.Context(), r.first.Next(), r.end) {
		if err != nil {
			b.Fatal(err)
		}
		n -= len(batch.Entries)
	}
	if n != 0 {
		b.Fatalf("%d entries are missing", n)
	}
}

// took runs f and gives its time.
func took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// compare reports what ours does per second, and as a share of the floor, which runs in turns with it.
func compare(b *testing.B, n int, floor, ours func()) {
	b.Helper()
	var f, o time.Duration
	for b.Loop() {
		f += took(floor)
		o += took(ours)
	}
	b.ReportMetric(float64(n)*float64(b.N)/o.Seconds(), "entries/s")
	b.ReportMetric(float64(n)*float64(b.N)/f.Seconds(), "floor/s")
	b.ReportMetric(f.Seconds()/o.Seconds(), "share")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFollow replays acks, fully decoded; the floor is go-redis XREAD COUNT 512 of the same entries, not decoded.
func BenchmarkFollow(b *testing.B) {
	r := newBench(b, benchEntries)
	compare(b, benchEntries, func() { r.rawXRead(b, benchEntries) }, func() { r.follow(b, benchEntries) })
}

// BenchmarkRead is the same for a range; the floor is go-redis XRANGE COUNT 512.
func BenchmarkRead(b *testing.B) {
	r := newBench(b, benchEntries)
	compare(b, benchEntries, func() { r.rawXRange(b, benchEntries) }, func() { r.read(b, benchEntries) })
}

// BenchmarkStock has the stock watermill subscriber replay acks; share is what it reaches of Follow, so 1/share is the factor.
func BenchmarkStock(b *testing.B) {
	r := newBench(b, stockEntries)
	compare(b, stockEntries, func() { r.follow(b, stockEntries) }, func() { r.stock(b, stockEntries) })
}

func (r *bench) stock(b *testing.B, n int) {
	sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client: noClose{r.client}, FanOutOldestId: r.first.String(), BlockTime: 100 * time.Millisecond,
		DisableIndefiniteInitialBlock: true,
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = sub.Close() }()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	messages, err := sub.Subscribe(ctx, eventlog.KeysOf(job).Log())
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		m := <-messages
		if _, err := events.Decode(events.EventID(m.UUID), m.Payload); err != nil {
			b.Fatal(err)
		}
		m.Ack()
	}
}

// noClose is a client that the stock subscriber cannot close.
type noClose struct{ redis.UniversalClient }

func (noClose) Close() error { return nil }

// BenchmarkPublish publishes one ack after the other; the floor is XADD by go-redis.
func BenchmarkPublish(b *testing.B) {
	r := newBench(b, 0)
	const n = 2000
	envs := make([]events.Envelope, n)
	for i := range envs {
		envs[i] = realAck(i)
	}
	wires, err := eventlog.ToWire(envs...)
	if err != nil {
		b.Fatal(err)
	}
	compare(b, n, func() { r.rawXAdd(b, wires) }, func() {
		for _, env := range envs {
			if err := r.log.Publish(b.Context(), env); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func (r *bench) rawXAdd(b *testing.B, wires []eventlog.Wire) {
	for _, w := range wires {
		err := r.client.XAdd(b.Context(), addArgs("raw", w)).Err()
		if err != nil {
			b.Fatal(err)
		}
	}
}

func addArgs(stream string, w eventlog.Wire) *redis.XAddArgs {
	return &redis.XAddArgs{
		Stream: stream, Values: []any{events.FieldID, string(w.ID), events.FieldPayload, w.Payload},
	}
}

// BenchmarkAppend appends 512 verdicts a call, fenced; the floor is a go-redis pipeline of 512 XADD.
func BenchmarkAppend(b *testing.B) {
	r := newBench(b, 0)
	const n = 512
	envs := make([]events.Envelope, n)
	for i := range envs {
		envs[i] = realAck(i)
	}
	wires, err := eventlog.ToWire(envs...)
	if err != nil {
		b.Fatal(err)
	}
	floor := func() {
		pipe := r.client.Pipeline()
		for _, w := range wires {
			pipe.XAdd(b.Context(), addArgs("raw", w))
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, n, floor, func() {
		if _, err := r.term.Append(b.Context(), envs...); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkAppendOne appends one verdict a call, fenced; the floor is one XADD.
func BenchmarkAppendOne(b *testing.B) {
	r := newBench(b, 0)
	const n = 1000
	env := realAck(0)
	wires, err := eventlog.ToWire(env)
	if err != nil {
		b.Fatal(err)
	}
	floor := func() {
		for range n {
			r.rawXAdd(b, wires)
		}
	}
	compare(b, n, floor, func() {
		for range n {
			if _, err := r.term.Append(b.Context(), env); err != nil {
				b.Fatal(err)
			}
		}
	})
}
