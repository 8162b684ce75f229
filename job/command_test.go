package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	"github.com/tidemark-stream/tidemark/job"
)

// away is an address where nobody listens: a command that gets so far has read its settings.
const away = "redis://127.0.0.1:1"

// call runs a command line of the job's program.
func call(t *testing.T, j job.Job, args ...string) (stdout string, err error) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	root := job.Command(j)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(t.Output())
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return out.String(), err
}

// flagged is a job with a setting of its own, which it hands to got when it is built.
func flagged(got *string) job.Job {
	var input string
	return job.Job{
		Name: "sums", About: "The input is numbers.",
		Flags: func(f *pflag.FlagSet) { f.StringVar(&input, "input-file", "default.txt", "file of numbers") },
		Build: func(job.Share) (*engine.Graph, error) {
			*got = input
			return nil, errors.New("built")
		},
	}
}

func TestASettingOfTheJobsOwnComesFromTheFirstPlaceThatHasIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sums.yaml")
	if err := os.WriteFile(file, []byte("input-file: file.txt\nlease-ttl: 3s\n"), 0o600); err != nil { // lease-ttl is the coordinator's
		t.Fatal(err)
	}
	const env = "TIDEMARK_INPUT_FILE"
	for _, c := range []struct {
		want, env, source string
		args              []string
	}{
		{want: "default.txt", source: "default"},
		{want: "file.txt", source: "file " + file, args: []string{"--config", file}},
		{want: "env.txt", env: "env.txt", source: "env " + env, args: []string{"--config", file}},
		{want: "flag.txt", env: "env.txt", args: []string{"--config", file, "--input-file", "flag.txt"}},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.env != "" {
				t.Setenv(env, c.env)
			}
			var got string
			if _, err := call(t, flagged(&got), append([]string{"run"}, c.args...)...); err == nil || !strings.Contains(err.Error(), "built") {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("built with %q, want %q", got, c.want)
			}
			if c.source == "" {
				return // config has no flags of the job
			}
			out, err := call(t, flagged(&got), append([]string{"config", "-o", "json"}, c.args...)...)
			if want := `{"name":"input-file","value":"` + c.want + `","source":"` + c.source + `"}`; err != nil || !strings.Contains(out, want) {
				t.Errorf("config: %v, %s is not in %s", err, want, out)
			}
		})
	}
}

func TestTheJobGivesItsNameToTheProgram(t *testing.T) {
	var got string
	j := flagged(&got)
	help, err := call(t, j, "run", "--help")
	for _, says := range []string{
		"task of the job sums", "The input is numbers.", "sums run --task 1/3", "--input-file string", `(default "default.txt")`, `name of the job (default "sums")`,
	} {
		if err != nil || !strings.Contains(help, says) {
			t.Errorf("%v, %q is not in %s", err, says, help)
		}
	}
	j.Program, j.Example = "adder", "  adder run --input-file x"
	help, err = call(t, j, "run", "--help")
	if err != nil || !strings.Contains(help, "Usage:\n  adder run") || !strings.Contains(help, "--input-file x") {
		t.Errorf("%v, %s", err, help)
	}
	if version, err := call(t, j, "version"); err != nil || !strings.HasPrefix(version, "adder ") {
		t.Errorf("version: %s, %v", version, err)
	}
	if health, err := call(t, j, "health", "--help"); err != nil || !strings.Contains(health, "adder health --task 1/3") {
		t.Errorf("health: %s, %v", health, err)
	}
}

func TestAWrongCallIsAnErrUsage(t *testing.T) {
	for args, says := range map[string]string{
		"run --task 4/3":                    "i/n",
		"run --task 0/3":                    "i/n",
		"run --task two":                    "i/n",
		"run --restore perhaps":             "adopt or fresh",
		"run --job a/b":                     "--job",
		"run --log-level loud":              "debug",
		"run --output x.jsonl --task 1/3":   "unknown flag",
		"run --progress-interval soon":      "invalid argument",
		"run --parallelism 1000":            "1000 with 128 key groups",
		"health --task 0/3":                 "i/n",
		"health --job a/b":                  "--job",
		"run --task 2/3 --redis " + away:    "with 3 shares",
		"run --task 2/3 --presence-ttl -1s": "with 3 shares", // the job is looked at first
	} {
		_, err := call(t, sums(t.TempDir()+"/all.jsonl", 1, 0), strings.Fields(args)...)
		if !errors.Is(err, job.ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want ErrUsage with %q", args, err, says)
		}
	}
	_, err := call(t, sums(t.TempDir(), 1, 0), "run", "--redis", away)
	if err == nil || errors.Is(err, job.ErrUsage) || !strings.Contains(err.Error(), "TIDEMARK_REDIS") {
		t.Errorf("a redis that is away: %v", err)
	}
}

func TestASettingThatTheProgramHasAlreadyPanics(t *testing.T) {
	panics := func(name string) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		job.Command(job.Job{Name: "sums", Flags: func(f *pflag.FlagSet) { f.String(name, "", "") }})
		return panicked
	}
	for name, want := range map[string]bool{"task": true, "config": true, "mine": false} {
		if panics(name) != want {
			t.Errorf("--%s: panics %v, want %v", name, !want, want)
		}
	}
}

func TestTheProgramRunsTheJobAndKnowsItsHealth(t *testing.T) {
	const last = 100
	server, dir := testredis.Start(t), t.TempDir()
	t.Setenv("REDIS_URL", server.URL())
	onRedis(t, server, "task-1")
	if _, err := call(t, sums(dir, last, 0), "health"); err == nil || !strings.Contains(err.Error(), "no sign of life") {
		t.Errorf("health before the run: %v", err)
	}
	if _, err := call(t, sums(dir, last, 0), "run"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer(job.Share{Count: 1}, last), read(t, dir, "task-1.jsonl")); diff != "" {
		t.Error(diff)
	}
	out, err := call(t, sums(dir, last, 0), "health", "--task", "1/1", "-o", "json")
	var health struct{ Task, Phase string }
	if err := errors.Join(err, json.Unmarshal([]byte(out), &health)); err != nil || health.Task != "task-1" || health.Phase != "finished" {
		t.Errorf("health after the run: %v, %s", err, out)
	}
	// Started again by mistake, without the output or a sink of before: the finished task stays what it is.
	if err := os.Remove(dir + "/task-1.jsonl"); err != nil {
		t.Fatal(err)
	}
	other := job.Job{Name: "sums", Build: func(job.Share) (*engine.Graph, error) {
		g := engine.New(engine.Config{})
		engine.ToRows(engine.From(g, engine.Slice([]int{1})), &engine.Rows[int]{})
		return g, nil
	}}
	for _, again := range []job.Job{sums(dir, last, 0), other} {
		if _, err := call(t, again, "run"); err != nil {
			t.Errorf("started again: %v", err)
		}
		if now, err := call(t, again, "health", "--task", "1/1", "-o", "json"); err != nil || now != out {
			t.Errorf("health after another start: %v, %s instead of %s", err, now, out)
		}
	}
}

func TestTheHelpOfRunNamesEveryExitCode(t *testing.T) {
	help, err := call(t, sums(t.TempDir(), 1, 0), "run", "--help")
	for _, says := range []string{"code 0 means", "; 1 that", "; 2 that", "; 3 that", "; 4 that"} {
		if err != nil || !strings.Contains(help, says) {
			t.Errorf("%v, %q is not in %s", err, says, help)
		}
	}
}
