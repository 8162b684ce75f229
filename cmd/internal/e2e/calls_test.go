package e2e_test

import (
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// away is an address where nobody listens.
const away = "redis://user:geheim@127.0.0.1:1"

func TestAWrongCallEndsWith2AndSaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	j := newJob(t, away)
	for _, c := range []struct{ call, says string }{
		{"nosuch", "unknown command"},
		{"list --nosuch", "See 'coordinator list --help'"},
		{"list extra", "extra"},
		{"list --status done", "pending, finalizing, completed, retired, withdrawn, failed"},
		{"list --limit -1", "negative"},
		{"list -o yaml", "text or json"},
		{"list --job a/b", "--job"},
		{"list --redis http://host", "redis+sentinel"},
		{"list --redis redis://u:geheim/x@h", "%2F"},
		{"list --config none.yaml", "none.yaml"},
		{"show", "accepts 1 arg"},
		{"show seven", "not a decimal number"},
		{"abort seven", "not a decimal number"},
		{"abort --wait-timeout 0s", "not positive"},
		{"trigger --wait-timeout -1s", "not positive"},
		{"trigger --request a/b", "--request"},
		{"log --kind nosuch", "checkpoint_completed"},
		{"log --from yesterday", "ms-seq"},
		{"log --follow --to 1-1", "no end"},
		{"log --limit -1", "negative"},
		{"serve", "--tasks 3"},
		{"serve --tasks 0", "1 to 100000"},
		{"serve --tasks a,a", "stands twice"},
		{"serve --tasks 3 --required-acks 3", "one of"},
		{"serve --tasks 3 --log-level loud", "debug"},
		{"serve --tasks 3 --log-format xml", "console"},
		{"serve --tasks 3 --interval soon", "invalid argument"},
		{"serve --tasks 3 --interval -1s", "Interval"},
		{"serve --tasks 3 --timeout 2h", "ChunkGrace"},
	} {
		t.Run(c.call, func(t *testing.T) {
			j := *j
			j.t = t
			r := j.refused(2, strings.Fields(c.call), c.says, "--help")
			if strings.Contains(r.out+r.err, "geheim") {
				t.Errorf("the password is shown: %s%s", r.out, r.err)
			}
		})
	}
	for _, c := range []struct{ call, says string }{
		{"run --task 4/3", "i/n"},
		{"run --task two", "i/n"},
		{"run --restore perhaps", "adopt or fresh"},
		{"health --task 0/3", "i/n"},
	} {
		w := j.start("worker", strings.Fields(c.call)...)
		if w.wait() != 2 || !strings.Contains(w.err.String(), c.says) {
			t.Errorf("worker %s: %d %s", c.call, w.code, w.err)
		}
	}
	j.with("TIDEMARK_LIMIT=many").refused(2, []string{"list"}, "env TIDEMARK_LIMIT")
}

func TestAMissingInputIsSaid(t *testing.T) {
	t.Parallel()
	w := newJob(t, away).start("worker", "run", "--input", "nosuch.jsonl")
	if w.wait() != 1 || !strings.Contains(w.err.String(), "--input") {
		t.Errorf("%d %s", w.code, w.err)
	}
}

func TestWhatNeedsNoRedis(t *testing.T) {
	t.Parallel()
	j := newJob(t, away)
	for call, says := range map[string]string{
		"version": "coordinator ", "version -o json": `"version":`, "--help": "Available Commands",
		"completion bash": "bash completion", "completion zsh": "#compdef coordinator", "completion fish": "fish completion",
	} {
		if out := j.must(strings.Fields(call)...); !strings.Contains(out, says) {
			t.Errorf("%s: %q is not in %s", call, says, out)
		}
	}
	out := j.with("TIDEMARK_INTERVAL=5s").must("config")
	for _, says := range []string{"env TIDEMARK_INTERVAL", "env TIDEMARK_JOB", "default", "user:***@"} {
		if !strings.Contains(out, says) {
			t.Errorf("config: %q is not in\n%s", says, out)
		}
	}
	if strings.Contains(out, "geheim") {
		t.Errorf("config shows the password:\n%s", out)
	}
}

func TestARedisThatIsAwayOrRefusesIsSaidWithoutThePassword(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	for url, says := range map[string]string{
		away:                            "is it running",
		"redis://u:geheim@" + s.Addr():  "are user and password right",
		"rediss://u:geheim@" + s.Addr(): "is it running",
		"redis+sentinel://:geheim@127.0.0.1:1/main": "is it running",
		"redis+cluster://u:geheim@127.0.0.1:1":      "is it running",
	} {
		j := newJob(t, url)
		for _, call := range []string{"list", "serve --tasks 3 --log-level debug", "trigger", "health"} {
			r := j.refused(1, strings.Fields(call), says, "TIDEMARK_REDIS")
			if strings.Contains(r.out+r.err, "geheim") {
				t.Errorf("%s at %s shows the password: %s%s", call, url, r.out, r.err)
			}
		}
		w := j.start("worker", "run")
		if w.wait() != 1 || strings.Contains(w.out.String()+w.err.String(), "geheim") {
			t.Errorf("worker run: %d %s", w.code, w.err)
		}
	}
}

func TestAJobThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t)
	j := newJob(t, s.URL())
	for _, call := range []string{"list", "show 1", "log", "status", "trigger", "abort"} {
		j.refused(1, strings.Fields(call), "no log yet", "coordinator serve --job e2e")
	}
	j.refused(1, []string{"health"}, "nobody has ever led", "coordinator serve --job e2e")
	serve := j.serve()
	serve.logged("leading")
	j.refused(1, []string{"show", "77"}, "no checkpoint 77", "coordinator list")
	j.refused(1, []string{"trigger"}, "refused", "task-1")
	if r := j.refused(1, []string{"trigger", "-o", "json"}); decode[verdict](t, r.out).Status != "refused" {
		t.Errorf("trigger -o json without workers: %s", r.out)
	}
	serve.kill()
	await(t, "the lease to lapse", func() bool { return j.run("health").code == 1 })
	j.refused(1, []string{"health"}, "no coordinator leads", "ago")
	j.refused(1, []string{"trigger", "--wait-timeout", "1s"}, "no coordinator leads", "no verdict in time")
	if out := j.must("status"); !strings.Contains(out, "led by nobody") {
		t.Errorf("status says %s", out)
	}
}
