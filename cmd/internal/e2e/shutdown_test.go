package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// pending leaves a job with a checkpoint that a paused worker keeps pending.
func pending(t *testing.T, drain string) (*job, *process) {
	t.Helper()
	s := testredis.Start(t)
	j := newJob(t, s.URL()).with("TIDEMARK_DRAIN_TIMEOUT=" + drain)
	serve := j.serve()
	all := j.work("100")
	for _, w := range all {
		w.logged("restored")
	}
	await(t, "a coordinator that leads", func() bool { return j.run("health").code == 0 })
	all[0].signal(syscall.SIGSTOP)
	t.Cleanup(func() { all[0].signal(syscall.SIGCONT) })
	if v := decode[verdict](t, j.must("trigger", "--no-wait", "-o", "json")); v.Status != "pending" {
		t.Fatalf("%+v", v)
	}
	return j, serve
}

func TestSIGTERMFailsByNameWhatDoesNotEndInTime(t *testing.T) {
	t.Parallel()
	j, serve := pending(t, "300ms")
	serve.signal(syscall.SIGTERM)
	if code := serve.wait(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
	rows := decode[[]row](t, j.must("list", "-o", "json"))
	if len(rows) != 1 || rows[0].Status != "failed" || rows[0].Reason != "shutdown" {
		t.Errorf("what was pending: %+v", rows)
	}
	j.refused(1, []string{"health"}, "no coordinator leads")
}

func TestASecondSIGTERMForces(t *testing.T) {
	t.Parallel()
	j, serve := pending(t, "1h")
	serve.signal(syscall.SIGTERM)
	serve.logged("shutting down")
	if serve.ended() {
		t.Fatal("it did not wait for what is pending")
	}
	serve.signal(syscall.SIGTERM)
	if code := serve.wait(); code != 128+int(syscall.SIGTERM) || !strings.Contains(serve.err.String(), "second") {
		t.Errorf("serve ended with %d: %s", code, serve.err)
	}
	if rows := decode[[]row](t, j.must("list", "-o", "json")); len(rows) != 1 || rows[0].Status != "pending" {
		t.Errorf("what was pending: %+v", rows)
	}
}

func TestSIGTERMWaitsForWhatIsPendingAndAWorkerGoesHome(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j, serve, all := running(t, s)
	all[2].signal(syscall.SIGSTOP)
	v := decode[verdict](t, j.must("trigger", "--no-wait", "-o", "json"))
	serve.signal(syscall.SIGTERM)
	serve.logged("shutting down")
	all[2].signal(syscall.SIGCONT)
	if code := serve.wait(); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
	rows := decode[[]row](t, j.must("list", "-o", "json"))
	if len(rows) != 1 || rows[0].ID != *v.Checkpoint || rows[0].Status != "completed" {
		t.Errorf("what was pending: %+v", rows)
	}
	for _, w := range all {
		w.signal(syscall.SIGTERM)
	}
	for _, w := range all {
		if code := w.wait(); code != 0 {
			t.Errorf("%s ended with %d", w.name, code)
		}
	}
}
