package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/redis"
)

// keysOf are all keys of the server that are not of the index, sorted.
func keysOf(t testing.TB, c *goredis.Client) []string {
	t.Helper()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, "index") })
	slices.Sort(keys)
	return keys
}

func storeID(t testing.TB, s store.Store, id events.CheckpointID, completed bool) {
	t.Helper()
	cp := store.New(id, int64(id))
	cp.Completed = completed
	if err := s.Store(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
}

func TestEachCheckpointIsOnePlainStringUnderPrefixAndID(t *testing.T) {
	for prefix, want := range map[string]string{"": "checkpoint:", "p:": "p:", "7": "7"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			c := testredis.Start(t).Client(t)
			s := newStore(t, c, prefix)
			storeID(t, s, 0, true)
			storeID(t, s, 1, false)
			storeID(t, s, 12, false)
			if got, want := fmt.Sprint(keysOf(t, c)), fmt.Sprintf("[%[1]s0 %[1]s1 %[1]s12]", want); got != want {
				t.Errorf("keys %s, want %s", got, want)
			}
			for _, k := range keysOf(t, c) {
				if kind := c.Type(t.Context(), k).Val(); kind != "string" {
					t.Errorf("%s is a %s", k, kind)
				}
				if ttl := c.TTL(t.Context(), k).Val(); ttl != -1 {
					t.Errorf("%s has a life of %v", k, ttl)
				}
			}
			aux, err := c.Keys(t.Context(), want+"index*").Result()
			if err != nil || len(aux) != 2 {
				t.Errorf("auxiliary keys %v, %v", aux, err)
			}
		})
	}
}

func TestPrefixIsLiteral(t *testing.T) {
	c := testredis.Start(t).Client(t)
	prefix := `a*b?[c-e]\d^:`
	record := `{"id":%d,"timestamp":%[1]d,"completed":true}`
	for key, id := range map[string]int{
		prefix + "1": 1, prefix + "20": 20, // ours
		`aXbY[c-e]\d^:3`: 3, `a*b?c\d^:4`: 4, `a*b?[c-e]d^:5`: 5, `a*b?d\d^:6`: 6, "x" + prefix + "7": 7, // not ours
		prefix + "08": 8, prefix + "+9": 9, prefix + "-1": 10, prefix + "1.0": 11, prefix + "12x": 12, prefix: 13, // auxiliary
		prefix + "99999999999999999999": 14, prefix + "١": 15, // not a number of ours
	} {
		if err := c.Set(t.Context(), key, fmt.Sprintf(record, id), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := newStore(t, c, prefix).List(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []events.CheckpointID
	for _, cp := range list {
		ids = append(ids, cp.ID)
	}
	if got := fmt.Sprint(ids); got != "[20 1]" {
		t.Errorf("list %s, want [20 1]", got)
	}
}

func TestStoresWithDifferentPrefixesDoNotSeeEachOther(t *testing.T) {
	c := testredis.Start(t).Client(t)
	for _, prefix := range []string{"p", "p:", "p:1", "p1:"} {
		s := newStore(t, c, prefix)
		if id, err := s.HighestID(t.Context()); err != nil || id != events.NoCheckpoint && prefix != "p" {
			t.Errorf("%s sees %v, %v", prefix, id, err)
		}
		if err := s.Create(t.Context(), store.New(0, 0)); err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
	}
}

func TestClosingLeavesTheClientUsable(t *testing.T) {
	c := testredis.Start(t).Client(t)
	s := newStore(t, c, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestClientsAndPrefixesThatCannotWorkAreRefused(t *testing.T) {
	single := goredis.NewClient(&goredis.Options{})
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	replicas := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadOnly: true})
	ring := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	for _, c := range []goredis.UniversalClient{single, cluster, replicas, ring} {
		t.Cleanup(func() { _ = c.Close() })
	}
	for name, tc := range map[string]struct {
		client goredis.UniversalClient
		opts   redis.Options
		want   string
	}{
		"an untagged prefix on a Cluster":    {cluster, redis.Options{}, "hash tag"},
		"an empty tag on a Cluster":          {cluster, redis.Options{KeyPrefix: "{}:"}, "hash tag"},
		"an unclosed tag on a Cluster":       {cluster, redis.Options{KeyPrefix: "a{b:"}, "hash tag"},
		"a Cluster client reading replicas":  {replicas, redis.Options{KeyPrefix: "{a}:"}, "replicas"},
		"a ring":                             {ring, redis.Options{}, "Ring"},
		"a negative record limit":            {single, redis.Options{MaxRecord: -1}, "limit"},
		"a negative scan count":              {single, redis.Options{ScanCount: -1}, "scan"},
		"a tagged prefix on a Cluster works": {cluster, redis.Options{KeyPrefix: "{a}:"}, ""},
		"no prefix on a single node works":   {single, redis.Options{}, ""},
	} {
		_, err := redis.New(tc.client, tc.opts)
		if tc.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tc.want != "" && (!errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tc := range map[string]struct {
		job  events.JobID
		opts redis.JobOptions
	}{
		"an empty job": {"", redis.JobOptions{}}, "a job with a brace": {"a}b", redis.JobOptions{}},
		"a prefix with a tag of its own": {"j", redis.JobOptions{KeyPrefix: "{x}:"}},
		"a life below a millisecond":     {"j", redis.JobOptions{ChunkLife: 1}},
		"a chunk beyond the format":      {"j", redis.JobOptions{MaxChunk: 1 << 33}},
	} {
		if _, err := redis.NewJob(single, tc.job, tc.opts); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
