package e2e_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// verdict is what trigger prints for a program.
type verdict struct {
	Request    string   `json:"request"`
	Checkpoint *int64   `json:"checkpoint"`
	Status     string   `json:"status"`
	Reason     string   `json:"reason"`
	Bytes      int64    `json:"bytes"`
	Missing    []string `json:"missing"`
}

// row is a line of list.
type row struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Acked    int    `json:"acked"`
	Required int    `json:"required"`
}

// running starts a job that checkpoints by request only and goes on for longer than any test.
func running(t *testing.T, s *testredis.Server) (j *job, serve *process, all []*process) {
	t.Helper()
	j = newJob(t, s.URL())
	serve = j.serve()
	all = j.work("100")
	for _, w := range all {
		w.logged("restored")
	}
	await(t, "a coordinator that leads", func() bool { return j.run("health").code == 0 })
	return j, serve, all
}

func TestTheVerbs(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j, _, all := running(t, s)
	first := triggers(t, j)
	if err := s.Client(t).XAdd(t.Context(), poisonTo("tm:{e2e}:log")).Err(); err != nil {
		t.Fatal(err)
	}
	reads(t, j, first)
	follows(t, j)
	aborts(t, j, all[1])
}

func poisonTo(stream string) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: stream, Values: []string{"payload", "no JSON", "_watermill_message_uuid", "1"}}
}

func triggers(t *testing.T, j *job) int64 {
	t.Helper()
	if out := j.must("trigger"); !strings.Contains(out, "completed") {
		t.Errorf("trigger says %s", out)
	}
	v := decode[verdict](t, j.must("trigger", "-o", "json", "--request", "nightly"))
	again := decode[verdict](t, j.must("trigger", "-o", "json", "--request", "nightly"))
	if v.Checkpoint == nil || v.Status != "completed" || v.Bytes == 0 || again.Checkpoint == nil || *again.Checkpoint != *v.Checkpoint {
		t.Errorf("the same request twice: %+v and %+v", v, again)
	}
	save := decode[verdict](t, j.must("trigger", "-o", "json", "--savepoint", "--cause", "before the upgrade"))
	rows := decode[[]row](t, j.must("list", "-o", "json", "--limit", "1"))
	if len(rows) != 1 || save.Checkpoint == nil || rows[0].ID != *save.Checkpoint || rows[0].Type != "savepoint" {
		t.Errorf("savepoint %+v stands as %+v", save, rows)
	}
	return *v.Checkpoint
}

func reads(t *testing.T, j *job, id int64) {
	t.Helper()
	if out := j.must("list"); !strings.HasPrefix(out, "ID") || !strings.Contains(out, "3/3") {
		t.Errorf("list says\n%s", out)
	}
	if rows := decode[[]row](t, j.must("list", "-o", "json", "--status", "failed")); len(rows) != 0 {
		t.Errorf("failed ones: %+v", rows)
	}
	n := json.Number(jsonOf(t, id)).String()
	if out := j.must("show", n); !strings.Contains(out, "checkpoint_triggered") || !strings.Contains(out, "completed at") {
		t.Errorf("show says\n%s", out)
	}
	story := decode[struct {
		Checkpoint int64  `json:"checkpoint"`
		Verdict    string `json:"verdict"`
		Events     []struct{ Kind, Task, Outcome string }
	}](t, j.must("show", n, "-o", "json"))
	if story.Checkpoint != id || len(story.Events) != 6 || story.Events[1].Kind != "checkpoint_triggered" {
		t.Errorf("story %+v", story)
	}
	if out := j.must("log"); !strings.Contains(out, "poison: ") || !strings.Contains(out, "coordinator_started") {
		t.Errorf("log says\n%s", out)
	}
	for line := range strings.Lines(j.must("log", "-o", "json")) {
		e := decode[struct {
			Position, ID, Poison string
			Payload              struct{ Kind string }
		}](t, line)
		if e.Position == "" || (e.Poison == "") == (e.Payload.Kind == "") {
			t.Errorf("line %s", line)
		}
	}
	if out := j.must("log", "--kind", "poison"); strings.Count(out, "\n") != 1 {
		t.Errorf("poison:\n%s", out)
	}
	if out := j.must("log", "--kind", "task_acked", "--limit", "2"); strings.Count(out, "task_acked") != 2 || strings.Count(out, "\n") != 2 {
		t.Errorf("two acks:\n%s", out)
	}
	stands(t, j)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func stands(t *testing.T, j *job) {
	t.Helper()
	st := decode[struct {
		Leading bool
		Tasks   []struct {
			Task, Phase string
			Alive       bool
		}
	}](t, j.must("status", "-o", "json"))
	if !st.Leading || len(st.Tasks) != workers {
		t.Errorf("status %+v", st)
	}
	for _, task := range st.Tasks {
		if !task.Alive {
			t.Errorf("task %+v", task)
		}
	}
	if out := j.must("status"); !strings.Contains(out, "led by coordinator-") {
		t.Errorf("status says\n%s", out)
	}
	if out := j.must("health"); !strings.Contains(out, "leads job e2e in epoch 1") {
		t.Errorf("health says %s", out)
	}
	if w := j.start("worker", "health", "--task", "1/3"); w.wait() != 0 || !strings.Contains(w.out.String(), "task task-1 is ") {
		t.Errorf("worker health: %d %s", w.code, w.out)
	}
	if w := j.start("worker", "health", "--task", "4/9"); w.wait() != 1 || !strings.Contains(w.err.String(), "no sign of life") {
		t.Errorf("health of nobody: %d %s", w.code, w.err)
	}
}

func follows(t *testing.T, j *job) {
	t.Helper()
	f := j.start("coordinator", "log", "--follow", "--kind", "checkpoint_completed", "-o", "json")
	await(t, "what was there already", func() bool { return strings.Count(f.out.String(), "\n") >= 3 })
	before := strings.Count(f.out.String(), "\n")
	j.must("trigger")
	await(t, "what came later", func() bool { return strings.Count(f.out.String(), "\n") > before })
	f.signal(syscall.SIGINT)
	if code := f.wait(); code != 0 {
		t.Errorf("an interrupted log --follow ends with %d: %s", code, f.err)
	}
}

func aborts(t *testing.T, j *job, slow *process) {
	t.Helper()
	j.refused(1, []string{"abort"}, "nothing")
	slow.signal(syscall.SIGSTOP)
	v := decode[verdict](t, j.must("trigger", "--no-wait", "-o", "json"))
	if v.Status != "pending" || v.Checkpoint == nil {
		t.Fatalf("trigger --no-wait with a paused worker: %+v", v)
	}
	j.refused(1, []string{"trigger", "--wait-timeout", "500ms", "--request", "slow"}, "no verdict in time", "request slow stays", "coordinator status")
	r := j.refused(1, []string{"trigger", "--wait-timeout", "500ms", "--request", "slow", "-o", "json"})
	if w := decode[verdict](t, r.out); w.Status != "waiting" || w.Request != "slow" {
		t.Errorf("a trigger that waited in vain: %s", r.out)
	}
	id := jsonOf(t, *v.Checkpoint)
	gone := decode[struct{ Aborted []int64 }](t, j.must("abort", id, "--cause", "test", "-o", "json"))
	if len(gone.Aborted) != 1 || gone.Aborted[0] != *v.Checkpoint {
		t.Errorf("abort %s: %+v", id, gone)
	}
	if out := j.must("show", id); !strings.Contains(out, "aborted") {
		t.Errorf("the story of an aborted one:\n%s", out)
	}
	await(t, "the request that waited", func() bool {
		return len(decode[[]row](t, j.must("list", "-o", "json", "--status", "pending"))) > 0
	})
	if out := j.must("abort"); !strings.Contains(out, "aborted") {
		t.Errorf("abort of all says %s", out)
	}
	slow.signal(syscall.SIGCONT)
}
