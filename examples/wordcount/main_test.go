package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
)

func TestEachWordIsCounted(t *testing.T) {
	server := testredis.Start(t)
	opts := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislog.Tune(opts)
	client := redis.NewUniversalClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	log, err := redislog.Open(redislog.Config{Job: "wordcount", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	records, err := storeredis.NewJob(client, "wordcount", storeredis.JobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := coordinator.Open(ctx, coordinator.Config{
		Job: "wordcount", Log: log, Store: records, Tasks: []events.TaskID{"task-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	input, output := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(input, []byte("the tide\nturns The tide\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, server.URL(), input, output); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`{"word":"the","n":1}`, `{"word":"tide","n":1}`, `{"word":"turns","n":1}`, `{"word":"the","n":2}`, `{"word":"tide","n":2}`, "",
	}, "\n")
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
