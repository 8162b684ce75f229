package e2e_test

import (
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAReplacedWorkerEndsWith3(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j, _, all := running(t, s)
	second := j.start("worker", "run", "--task", "1/3", "--rate", "100", "--output", j.dir+"/second/")
	if code := all[0].wait(); code != 3 || !strings.Contains(all[0].err.String(), "another worker has taken up the task") {
		t.Errorf("exit code %d", code)
	}
	second.logged("restored")
}

func TestAWorkerWithAnotherNumberOfSharesEndsWith2(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j := newJob(t, s.URL())
	serve := j.serve()
	serve.logged("leading")
	w := j.start("worker", "run", "--task", "1/2", "--output", j.dir+"/")
	if code := w.wait(); code != 2 || !strings.Contains(w.err.String(), "the coordinator expects 3 tasks") {
		t.Errorf("exit code %d", code)
	}
}
