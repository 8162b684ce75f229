package redislog_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/logtest"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestContractEmbedded(t *testing.T) {
	logtest.Exercise(t, nil, func(t *testing.T) logtest.Server {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		c := client(t, m.Addr())
		l, err := redislog.Open(redislog.Config{Job: job, Client: c, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		rig := server(t, c, l, l)
		rig.Uncounted = true
		return rig
	})
}

func TestContractOnACluster(t *testing.T) {
	cluster := testredis.StartCluster(t, 3)
	var n atomic.Int64
	logtest.Exercise(t, nil, func(t *testing.T) logtest.Server {
		o := &redis.UniversalOptions{Addrs: cluster.Addrs()}
		redislog.Tune(o)
		c := redis.NewClusterClient(o.Cluster())
		t.Cleanup(func() { _ = c.Close() })
		// Each test has a job of its own, so the jobs lie on different nodes.
		l, err := redislog.Open(redislog.Config{Job: events.JobID(fmt.Sprint("job-", n.Add(1))), Client: c})
		if err != nil {
			t.Fatal(err)
		}
		return server(t, c, l, l)
	})
}

func TestAllKeysOfAJobLieInOneSlot(t *testing.T) {
	c := testredis.Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf").Client(t)
	k := eventlog.KeysOf("orders-7.x")
	all := []string{k.Log(), k.Control(), k.Leader(), k.Tasks(), k.Task("t-1"), k.Fold(), k.Quarantine()}
	want, err := c.ClusterKeySlot(t.Context(), all[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		if got, err := c.ClusterKeySlot(t.Context(), key).Result(); err != nil || got != want {
			t.Errorf("%s lies in slot %d, %v; want %d", key, got, err, want)
		}
	}
}

func TestReadersLogInAsTheClientDoes(t *testing.T) {
	s := testredis.Start(t)
	if err := s.Client(t).Do(t.Context(), "ACL", "SETUSER", "tm", "on", ">pa ss", "~tm:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *redis.UniversalOptions){
		"user and password": func(o *redis.UniversalOptions) { o.Username, o.Password = "tm", "pa ss" },
		"credentials provider": func(o *redis.UniversalOptions) {
			o.CredentialsProvider = func() (string, string) { return "tm", "pa ss" }
		},
		"another database": func(o *redis.UniversalOptions) { o.DB = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			o := &redis.UniversalOptions{Addrs: []string{s.Addr()}}
			change(o)
			redislog.Tune(o)
			c := redis.NewClient(o.Simple())
			defer func() { _ = c.Close() }()
			l := open(t, c)
			if err := l.Publish(t.Context(), ack("e")); err != nil {
				t.Fatal(err)
			}
			for b, err := range l.Follow(t.Context(), events.Start, eventlog.FollowOptions{}) {
				if err != nil || len(b.Entries) == 0 {
					t.Errorf("batch of %d, %v", len(b.Entries), err)
				}
				break
			}
		})
	}
}

func TestWhatNoWaitingRepairsEndsTheReader(t *testing.T) {
	s := testredis.Start(t)
	for name, change := range map[string]func(c *redis.Client) *redis.Client{
		"a refused password": func(*redis.Client) *redis.Client {
			o := &redis.UniversalOptions{Addrs: []string{s.Addr()}, Username: "nobody", Password: "wrong"}
			redislog.Tune(o)
			bad := redis.NewClient(o.Simple())
			t.Cleanup(func() { _ = bad.Close() })
			return bad
		},
		"a key of another type": func(c *redis.Client) *redis.Client {
			if err := c.Set(t.Context(), eventlog.KeysOf(job).Log(), "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, change(client(t, s.Addr())))
			n := 0
			for _, err := range l.Follow(t.Context(), events.Start, eventlog.FollowOptions{}) {
				if n++; err == nil || n > 1 {
					t.Fatalf("answer %d is %v", n, err)
				}
			}
			for _, err := range l.Read(t.Context(), events.Start, events.End) {
				if err == nil {
					t.Error("read it")
				}
			}
			if err := l.Publish(t.Context(), ack("e")); err == nil {
				t.Error("published")
			}
		})
	}
}

func TestOpenRefusesAClientThatSendsTwice(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = c.Close() }()
	if _, err := redislog.Open(redislog.Config{Job: job, Client: c}); err == nil {
		t.Error("took a client with the default of three retries")
	}
	if _, err := redislog.Open(redislog.Config{Job: job}); err == nil {
		t.Error("took no client")
	}
	if _, err := redislog.Open(redislog.Config{Job: "a b", Client: client(t, "127.0.0.1:1")}); err == nil {
		t.Error("took a bad job")
	}
}
