package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

// coordinate starts the job's coordinator and ends it with the test.
func coordinate(t *testing.T, server *testredis.Server, tasks ...events.TaskID) {
	t.Helper()
	opts := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislog.Tune(opts)
	client := redis.NewUniversalClient(opts)
	log, err1 := redislog.Open(redislog.Config{Job: "wordcount", Client: client})
	records, err2 := storeredis.NewJob(client, "wordcount", storeredis.JobOptions{})
	c, err3 := coordinator.Open(t.Context(), coordinator.Config{Job: "wordcount", Log: log, Store: records, Tasks: tasks})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
}

// build makes the program and says where it is.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "wordcount")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

func TestExitCodes(t *testing.T) {
	program := build(t)
	for call, want := range map[string]int{
		"version": 0, "run --task 3/2": 2, "run --nosuch": 2, "run --task 1/2 --output counts.jsonl": 2, "run --redis redis://127.0.0.1:1": 1,
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(call)...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d: %v\n%s", call, got, want, err, out)
		}
	}
}

func TestEachWordIsCountedByOneOfTwoShares(t *testing.T) {
	server := testredis.Start(t)
	coordinate(t, server, "task-1", "task-2")
	program, dir := build(t), t.TempDir()
	input, output := filepath.Join(dir, "in.txt"), filepath.Join(dir, "counts")
	if err := os.WriteFile(input, []byte("the tide\nturns The tide\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 2) // sent once by each process's goroutine
	for _, task := range []string{"1/2", "2/2"} {
		cmd := exec.CommandContext(ctx, program, "run", "--task", task, "--input", input, "--output", output+"/")
		cmd.Env = append(os.Environ(), "TIDEMARK_REDIS="+server.URL())
		cmd.Stderr = t.Output()
		go func() { ended <- cmd.Run() }()
	}
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range []string{"task-1", "task-2"} {
		rows, err := os.ReadFile(filepath.Join(output, task+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Fields(string(rows))...)
	}
	slices.Sort(got)
	want := []string{
		`{"word":"the","n":1}`, `{"word":"the","n":2}`, `{"word":"tide","n":1}`, `{"word":"tide","n":2}`, `{"word":"turns","n":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
