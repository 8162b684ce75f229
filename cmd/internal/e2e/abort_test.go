package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// The coordinator stands still until both requests are in the log. The one that comes second has nothing of its own to end.
func TestTwoAbortsThatMeetBothSayWhatBecameOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	c := s.Client(t)
	j := newJob(t, s.URL())
	serve := j.serve("--lease-ttl", "60s")
	all := j.work("100")
	for _, w := range all {
		w.logged("restored")
	}
	all[1].signal(syscall.SIGSTOP)
	await(t, "a checkpoint that is pending", func() bool { return j.run("trigger", "--no-wait").code == 0 })
	serve.signal(syscall.SIGSTOP)
	first := `{"v":1,"kind":"abort_requested","at":1,"data":{"request":"first","up_to":9,"by":"ops"}}`
	err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: "tm:{e2e}:log", Values: []string{"payload", first, "_watermill_message_uuid", "a1"}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	second := j.start("coordinator", "abort")
	await(t, "both requests", func() bool { return strings.Count(j.must("log", "--kind", "abort_requested"), "\n") == 2 })
	serve.signal(syscall.SIGCONT)
	if code := second.wait(); code != 0 || !strings.Contains(second.out.String(), "aborted, as ops had asked before") {
		t.Errorf("the second abort ends with %d and says %q", code, second.out.String())
	}
	all[1].signal(syscall.SIGCONT)
}
