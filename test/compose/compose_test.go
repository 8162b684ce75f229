package compose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/examples/flights"
)

var workers = []string{"worker-1", "worker-2", "worker-3"}

// status is the part of `coordinator status -o json` that the test reads.
type status struct {
	LatestCompleted *events.CheckpointID `json:"latest_completed"`
}

// TestTheJobSurvivesKilledContainers runs the demo job in containers and kills a worker, the coordinator and Redis
// while it runs; the output must be the known answer all the same.
func TestTheJobSurvivesKilledContainers(t *testing.T) {
	s := up(t)
	s.awaitHealthy(t, time.Minute, "redis", "coordinator", "worker-1", "worker-2", "worker-3")

	s.awaitCompleted(t, 1)
	for _, service := range []string{"worker-2", "coordinator", "redis"} {
		before := s.newest(t)
		s.crash(t, service)
		s.awaitHealthy(t, time.Minute, service)
		// The next checkpoint needs all of them, so it shows that the job goes on.
		s.awaitCompleted(t, before+1)
	}

	for _, w := range workers {
		poll(t, 2*time.Minute, w+" reaches the end of its input", func() (bool, string) {
			got := s.inspect(t, w, "{{.State.Status}} {{.State.ExitCode}}")
			return got == "exited 0", got
		})
	}
	var rows []flights.Day
	for name, content := range s.files(t, "worker-1", "/out") {
		if strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		days, err := flights.DecodeRows(bytes.NewReader(content))
		if err != nil {
			t.Errorf("read %s: %v", name, err)
		}
		rows = append(rows, days...)
	}
	if err := flights.Check(rows); err != nil {
		t.Errorf("%d rows: %v", len(rows), err)
	}
}

// completed asks the coordinator for the newest completed checkpoint, NoCheckpoint when there is none yet.
func (s *stack) completed(t *testing.T) (events.CheckpointID, error) {
	t.Helper()
	out, err := s.exec(t.Context(), "coordinator", "coordinator", "status", "-o", "json")
	if err != nil {
		return events.NoCheckpoint, err
	}
	var now status
	if err := json.Unmarshal(out, &now); err != nil {
		t.Fatalf("read the status %q: %v", out, err)
	}
	if now.LatestCompleted == nil {
		return events.NoCheckpoint, nil
	}
	return *now.LatestCompleted, nil
}

func (s *stack) newest(t *testing.T) events.CheckpointID {
	t.Helper()
	id, err := s.completed(t)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// awaitCompleted waits until a checkpoint with this id or a higher one is completed.
func (s *stack) awaitCompleted(t *testing.T, id events.CheckpointID) {
	t.Helper()
	poll(t, time.Minute, "a checkpoint completes", func() (bool, string) {
		got, err := s.completed(t)
		if err != nil { // the container may just be starting
			return false, err.Error()
		}
		return got >= id, fmt.Sprintf("latest completed %d, waiting for %d", got, id)
	})
}
