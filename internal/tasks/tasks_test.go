package tasks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/tasks"
)

func TestAShareIsWithinItsCount(t *testing.T) {
	for text, want := range map[string]tasks.Share{
		"1/1": {Number: 1, Count: 1}, "2/3": {Number: 2, Count: 3}, "3/3": {Number: 3, Count: 3},
		"0/3": {}, "4/3": {}, "1": {}, "1/": {}, "/3": {}, "": {}, "a/b": {}, "-1/3": {}, "1/100001": {}, "1/3/5": {},
	} {
		got, err := tasks.ParseShare(text)
		if got != want || (err == nil) != (want.Count > 0) {
			t.Errorf("ParseShare(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if id := (tasks.Share{Number: 2, Count: 3}).Task(); id != "task-2" {
		t.Errorf("task %s", id)
	}
}

func TestTasksAreANumberOrNames(t *testing.T) {
	for text, want := range map[string][]events.TaskID{
		"2": {"task-1", "task-2"}, "ingest": {"ingest"}, "a, b,c": {"a", "b", "c"},
	} {
		got, err := tasks.Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Parse(%q): %s", text, diff)
		}
	}
	for text, says := range map[string]string{"0": "1 to", "-3": "1 to", "100001": "1 to", "a,a": "twice", "a,,b": "", "": "", "a b": "byte 1"} {
		if got, err := tasks.Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Parse(%q) = %v, %v, want an error with %q", text, got, err, says)
		}
	}
}
