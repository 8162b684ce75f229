package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// ending is a line of log with what it ended.
type ending struct {
	Payload struct{ Kind string }
	Ended   []struct {
		Checkpoint     int64
		Status, Reason string
	}
}

func TestTheLogSaysWhatEachEventEnded(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j, serve, all := running(t, s)
	follow := j.start("coordinator", "log", "--follow", "--ended")
	j.must("trigger")
	all[0].signal(os.Kill)
	v := decode[verdict](t, j.must("trigger", "--no-wait", "-o", "json"))
	if v.Checkpoint == nil {
		t.Fatalf("%+v", v)
	}
	serve.kill()
	serve = j.serve()
	serve.logged("leading")
	await(t, "the end that has no event of its own", func() bool { return strings.Contains(follow.out.String(), "failed: coordinator_changed") })
	if out := follow.out.String(); !strings.Contains(out, "→ checkpoint 0 completed\n") || strings.Contains(out, "task_acked") {
		t.Errorf("log --follow --ended says\n%s", out)
	}
	var last ending
	n := 0
	out := j.must("log", "--ended", "-o", "json")
	for line := range strings.Lines(out) {
		last = decode[ending](t, line)
		n++
	}
	if n != 2 || last.Payload.Kind != "coordinator_started" || len(last.Ended) != 1 || last.Ended[0].Checkpoint != *v.Checkpoint ||
		last.Ended[0].Status != "failed" || last.Ended[0].Reason != "coordinator_changed" {
		t.Errorf("log --ended -o json:\n%s", out)
	}
	if text := j.must("log", "--kind", "checkpoint_triggered"); !strings.Contains(text, "{") || strings.Contains(text, "…") ||
		!strings.Contains(text, "task-3") {
		t.Errorf("into a pipe a payload is whole:\n%s", text)
	}
}
