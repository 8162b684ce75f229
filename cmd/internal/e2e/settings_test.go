package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const bothFile = `interval: 3s
lease-ttl: 7s
tasks: 3
task: 2/3
rate: 150
job: from-file
`

func TestOneFileServesBothProgramsAndConfigShowsIt(t *testing.T) {
	t.Parallel()
	j := newJob(t, away)
	file := filepath.Join(j.dir, "both.yaml")
	if err := os.WriteFile(file, []byte(bothFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, program string
		env, args     []string
		want          map[string][2]string
	}{
		{
			"the coordinator, by flag", "coordinator", nil,
			[]string{"--config", file},
			map[string][2]string{"interval": {"3s", "file " + file}, "job": {"e2e", "env TIDEMARK_JOB"}, "config": {file, "flag"}},
		},
		{
			"the coordinator, by environment", "coordinator",
			[]string{"TIDEMARK_CONFIG=" + file},
			nil,
			map[string][2]string{"lease-ttl": {"7s", "file " + file}, "retain": {"5", "default"}, "config": {file, "env TIDEMARK_CONFIG"}},
		},
		{
			"the worker, by flag", "worker", nil,
			[]string{"--config", file},
			map[string][2]string{"task": {"2/3", "file " + file}, "rate": {"150", "file " + file}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := j.with(c.env...).start(c.program, append([]string{"config", "-o", "json"}, c.args...)...)
			if code := p.wait(); code != 0 {
				t.Fatalf("exit code %d: %s", code, p.err)
			}
			got := map[string][2]string{}
			for _, row := range decode[[]map[string]string](t, p.out.String()) {
				got[row["name"]] = [2]string{row["value"], row["source"]}
			}
			for name, want := range c.want {
				if diff := cmp.Diff(want, got[name]); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if _, ok := got["embedded-redis"]; ok {
				t.Error("a hidden flag is shown")
			}
		})
	}
	w := j.start("worker", "run", "--config", file)
	if w.wait() != 1 || !strings.Contains(w.err.String(), "is it running") { // it came as far as Redis
		t.Errorf("worker run with the file of both: %d %s", w.code, w.err)
	}
	j.refused(1, []string{"serve", "--config", file}, "is it running")
}
