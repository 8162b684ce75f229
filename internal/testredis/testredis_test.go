package testredis_test

import (
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestServerForgetsOverARestartUnlessItPersists(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want int64
	}{
		"without persistence": {nil, 0},
		"with appendonly":     {[]string{"--appendonly", "yes", "--appendfsync", "always"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := testredis.Start(t, tc.args...)
			before := s.PID()
			if err := s.Client(t).Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Restart()
			if s.PID() == before {
				t.Fatalf("still process %d", before)
			}
			got, err := s.Client(t).Exists(t.Context(), "k").Result()
			if err != nil || got != tc.want {
				t.Fatalf("Exists = %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	s := testredis.Start(t)
	c := s.Client(t)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	if err := c.WithTimeout(50 * time.Millisecond).Ping(t.Context()).Err(); err == nil {
		t.Fatal("a paused server answered")
	}
	s.Resume()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestServersAreApart(t *testing.T) {
	a, b := testredis.Start(t), testredis.Start(t)
	if a.Addr() == b.Addr() || a.Dir() == b.Dir() {
		t.Fatalf("%s in %s and %s in %s share something", a.Addr(), a.Dir(), b.Addr(), b.Dir())
	}
	a.Stop()
	a.Stop()
	if err := b.Client(t).Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestClusterServesAllSlots(t *testing.T) {
	c := testredis.StartCluster(t, 3)
	rdb := c.Client(t)
	for _, k := range []string{"a", "b", "c", "d", "{orders}:x"} {
		if err := rdb.Set(t.Context(), k, k, 0).Err(); err != nil {
			t.Fatalf("set %s: %v", k, err)
		}
	}
}
