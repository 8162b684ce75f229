// Package docs_test runs what the documentation shows.
package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// The worker of wire-format.md is nothing but a shell and redis-cli. Its lines are run as they stand, and what they put
// into the log is read as events.
func TestAShellWithRedisCliTakesPartAsTheDocSays(t *testing.T) {
	server := testredis.Start(t)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		if os.Getenv("TIDEMARK_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip("redis-cli is missing; it comes with redis-server")
	}
	doc, err := os.ReadFile("wire-format.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, m := range regexp.MustCompile("(?s)```sh exec\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		script.WriteString(m[1])
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script.String())
	cmd.Env = append(os.Environ(), "REDIS_URL="+server.URL())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	entries, err := server.Client(t).XRange(t.Context(), "tm:{orders}:log", "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var got []events.Envelope
	for _, entry := range entries {
		if _, err := events.ParsePosition(entry.ID); err != nil {
			t.Error(err)
		}
		id, _ := entry.Values[events.FieldID].(string)
		payload, _ := entry.Values[events.FieldPayload].(string)
		e, err := events.Decode(events.EventID(id), []byte(payload))
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		got = append(got, e)
	}
	want := []events.Envelope{
		{ID: "worker-77aa-1", At: 1764453600000, Event: &events.TaskRegistered{Task: "flights-2", Instance: "worker-77aa", Host: "node-3", PID: 4711}},
		{ID: "worker-77aa-2", At: 1764453600100, Event: &events.TaskRestored{Task: "flights-2", Attempt: 1, Checkpoint: events.NoCheckpoint}},
		{ID: "ops-1", At: 1764453600200, Event: &events.CheckpointRequested{Request: "before-upgrade", Type: events.TypeCheckpoint, By: "ops"}},
		{ID: "worker-77aa-3", At: 1764453600300, Event: &events.TaskAcked{
			Checkpoint: 0, Task: "flights-2", Attempt: 1, Epoch: 1,
			Handle:   events.StateHandle{Inline: []byte(`{"line":1200,"sum":8231}`)},
			Measures: events.Measures{Sync: 1, Records: 1200},
		}},
		{ID: "worker-77aa-4", At: 1764453600400, Event: &events.TaskDeclined{
			Checkpoint: 1, Task: "flights-2", Attempt: 1, Epoch: 1, Reason: events.DeclinedCutFailed, Text: "window store is closed",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
