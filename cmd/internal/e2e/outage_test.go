package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// fewLines is what an outage may cost in warnings: each kind once, and one or two that come before it is known to be one.
const fewLines = 12

func TestAJobOutlivesRestartsOfRedisAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	s := testredis.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	j := newJob(t, s.URL())
	serve := j.serve("--interval", "200ms")
	all := j.work("2500")
	for range 2 {
		await(t, "a completed checkpoint", func() bool { return completed(t, j) > 0 })
		s.Stop()
		for _, p := range append(all, serve) {
			await(t, p.name+" to see it", func() bool { return p.ended() || outages(p) > 0 })
		}
		hold(t, 3*time.Second)
		s.Restart()
		before := completed(t, j)
		await(t, "a checkpoint after the outage", func() bool { return completed(t, j) > before })
	}
	for _, w := range all {
		if code := w.wait(); code != 0 {
			t.Errorf("%s ended with %d", w.name, code)
		}
	}
	j.check()
	for _, p := range append(all, serve) {
		text := p.err.String()
		n := outages(p)
		if n < 1 || strings.Count(text, "redis answers again") < n-1 {
			t.Errorf("%s saw %d outages and %d ends of one", p.name, n, strings.Count(text, "redis answers again"))
		}
		if w := strings.Count(text, `"level":"warn"`) + strings.Count(text, `"level":"error"`); w > 2*fewLines {
			t.Errorf("%s wrote %d warnings about two outages:\n%s", p.name, w, text)
		}
	}
}

func outages(p *process) int { return strings.Count(p.err.String(), "redis cannot be reached") }

// completed is the highest id of a completed checkpoint, and 0 if that cannot be read now.
func completed(t *testing.T, j *job) int64 {
	t.Helper()
	r := j.run("list", "--status", "completed", "--limit", "1", "-o", "json")
	if r.code != 0 {
		return 0
	}
	rows := decode[[]row](t, r.out)
	if len(rows) == 0 {
		return 0
	}
	return rows[0].ID
}

// hold lets time pass: an outage has to last for some retries.
func hold(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
