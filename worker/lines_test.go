package worker_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
)

// line is what the tests read of a line of the log.
type line struct {
	Level, Message, Stack string
	In                    int64 `json:"records_in"`
	Out                   int64 `json:"records_out"`
	Late                  int64 `json:"late_dropped"`
}

func (s *said) lines(t *testing.T) (list []line) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := range strings.Lines(s.b.String()) {
		l := line{Late: -1}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

func TestTheLastLinesHaveTheCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		j := newJob()
		cfg := j.config()
		cfg.Logger = zerolog.New(&out)
		r := s.start(cfg)
		for i := range 7 {
			j.feed.c <- i
		}
		close(j.feed.c)
		next[*events.CheckpointRequested](s)
		s.pend(0)
		s.complete(next[*events.TaskAcked](s))
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		got := slices.DeleteFunc(out.lines(t), func(l line) bool { return l.Late < 0 })
		want := []line{
			{Level: "info", Message: "input has ended; waiting for one more completed checkpoint", In: 7, Out: 7},
			{Level: "info", Message: "finished", In: 7, Out: 7},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheStackOfAPanicIsThereAtLevelDebug(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var out said
		j := newJob()
		j.each = explode
		cfg := j.config()
		cfg.Logger = zerolog.New(&out)
		r := s.start(cfg)
		j.feed.c <- 1
		err := r.wait()
		if p, ok := errors.AsType[*engine.PanicError](err); !ok || p.Value != "boom" {
			t.Fatal(err)
		}
		stacks := slices.DeleteFunc(out.lines(t), func(l line) bool { return l.Stack == "" })
		if len(stacks) != 1 || stacks[0].Level != "debug" || !strings.Contains(stacks[0].Stack, "worker_test.explode") {
			t.Errorf("stacks %+v", stacks)
		}
	})
}

func explode(int) error { panic("boom") }
