package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAJobRunsToTheRightAnswer(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	runToTheEnd(t, newJob(t, s.URL()))
}

// runToTheEnd runs a whole job and looks at what is left.
func runToTheEnd(t *testing.T, j *job) {
	t.Helper()
	serve := j.serve("--interval", "200ms")
	for _, w := range j.work("8000") {
		if code := w.wait(); code != 0 {
			t.Fatalf("%s: exit code %d", w.name, code)
		}
	}
	j.check()
	await(t, "a worker that has finished to be healthy", func() bool {
		w := j.start("worker", "health", "--task", "2/3")
		return w.wait() == 0 && strings.Contains(w.out.String(), "task-2 is finished")
	})
	if list := j.must("list"); !strings.Contains(list, "completed") {
		t.Errorf("no checkpoint completed:\n%s", list)
	}
	serve.signal(syscall.SIGTERM)
	if code := serve.wait(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}
