package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAJobIsForgottenAndNothingElse(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	c := s.Client(t)
	j, serve, all := running(t, s)
	j.must("trigger")
	others := []string{"tm:{e2e2}:log", "tm:{e2}:log", "tm:{e2e}", "xtm:{e2e}:log", "streaming:runtime:checkpoint:{e2e2}:1", "e2e"}
	for _, key := range others {
		if err := c.Set(t.Context(), key, "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	j.refused(1, []string{"forget", "--yes"}, "leads e2e", "--force")
	serve.signal(os.Interrupt)
	serve.wait()
	j.refused(1, []string{"forget", "--yes"}, "sign of life", "task-1")
	for _, w := range all {
		w.kill()
	}
	before := c.DBSize(t.Context()).Val()
	r := j.refused(2, []string{"forget", "-o", "json"})
	if v := decode[forgotten](t, r.out); v.Deleted || v.Keys == 0 {
		t.Errorf("without --yes: %+v", v)
	}
	j.with("TIDEMARK_YES=true").refused(2, []string{"forget"}, "nothing is deleted without --yes")
	if n := c.DBSize(t.Context()).Val(); n < before-workers { // the signs of life may have lapsed
		t.Errorf("without --yes %d of %d keys are left", n, before)
	}
	if v := decode[forgotten](t, j.must("forget", "--yes", "--force", "-o", "json")); !v.Deleted || v.Keys == 0 {
		t.Errorf("with --yes: %+v", v)
	}
	left := c.Keys(t.Context(), "*").Val()
	if len(left) != len(others) {
		t.Errorf("left are %v, want %v", left, others)
	}
}

// forgotten is what forget prints for a program.
type forgotten struct {
	Keys    int  `json:"keys"`
	Deleted bool `json:"deleted"`
}

func TestAJobOnAClusterIsForgotten(t *testing.T) {
	t.Parallel()
	c := testredis.StartCluster(t, 3)
	j := newJob(t, "redis+cluster://"+strings.Join(c.Addrs(), ","))
	serve := j.serve()
	serve.logged("leading")
	serve.kill()
	if v := decode[forgotten](t, j.must("forget", "--yes", "--force", "-o", "json")); v.Keys == 0 {
		t.Errorf("%+v", v)
	}
	for _, addr := range c.Addrs() {
		client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		t.Cleanup(func() { _ = client.Close() })
		if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			t.Errorf("left on %s: %v", addr, keys)
		}
	}
}

// TestAJobWhoseStateIsGoneIsStartedAnew is what docs/operations.md says to do.
func TestAJobWhoseStateIsGoneIsStartedAnew(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	c := s.Client(t)
	j, serve, all := running(t, s)
	j.must("trigger")
	serve.kill()
	for _, w := range all {
		w.kill()
	}
	chunks := c.Keys(t.Context(), "streaming:runtime:checkpoint:{e2e}:state:*").Val()
	if len(chunks) == 0 || c.Del(t.Context(), chunks...).Err() != nil {
		t.Fatalf("chunks %v", chunks)
	}
	serve = j.serve()
	serve.logged("a completed checkpoint cannot be restored any more")
	w := j.start("worker", "run", "--task", "1/3", "--output", j.dir+"/")
	if code := w.wait(); code != 1 || !strings.Contains(w.err.String(), "restore failed: checkpoint 0") {
		t.Errorf("a worker whose state is gone ends with %d", code)
	}
	serve.kill()
	j.must("forget", "--yes", "--force")
	j.serve()
	all = j.work("100")
	for _, w := range all {
		w.logged("restored")
	}
	if out := j.must("trigger"); !strings.Contains(out, "checkpoint 0 completed") {
		t.Errorf("the job that was started anew says %s", out)
	}
}
