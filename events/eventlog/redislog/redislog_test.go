package redislog_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/logtest"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// The stock watermill subscriber, which a test and a benchmark compare with, sleeps on for half a second after its Close.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream.(*Subscriber).read"))
}

const job = events.JobID("orders")

// client is a tuned client for one address.
func client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{addr}}
	redislog.Tune(o)
	c := redis.NewClient(o.Simple())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func open(t testing.TB, c redis.UniversalClient) *redislog.Log {
	t.Helper()
	l, err := redislog.Open(redislog.Config{Job: job, Client: c})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fields are those of an entry in the form that XADD takes.
func fields(list []eventlog.Field) []string {
	var values []string
	for _, f := range list {
		values = append(values, string(f.Name), string(f.Value))
	}
	return values
}

// server is the rig of the contract on a client of Redis.
func server(t *testing.T, c redis.UniversalClient, job, other eventlog.Job) logtest.Server {
	t.Helper()
	keys := eventlog.KeysOf(job.Job())
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	return logtest.Server{
		Job: job, Other: other,
		Inject: func(list ...eventlog.Field) events.Position {
			id, err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.Log(), Values: fields(list)}).Result()
			must(err)
			at, err := events.ParsePosition(id)
			must(err)
			return at
		},
		Drop:      func() { must(c.Del(t.Context(), keys.Log()).Err()) },
		DropToken: func() { must(c.Del(t.Context(), keys.Leader()).Err()) },
		TrimTo: func(before events.Position) {
			must(c.XTrimMinID(t.Context(), keys.Log(), before.String()).Err())
		},
	}
}

func TestContract(t *testing.T) {
	s := testredis.Start(t)
	logtest.Exercise(t, nil, func(t *testing.T) logtest.Server {
		c := client(t, s.Addr())
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return server(t, c, open(t, c), open(t, client(t, s.Addr())))
	})
}
