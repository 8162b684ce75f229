package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
)

// Each subtask has one range of key groups, all ranges together have every group once, and they differ by one group at most.
func TestRangesOfKeyGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.IntRange(1, 1<<15).Draw(t, "groups")
		subtasks := rapid.IntRange(1, groups).Draw(t, "subtasks")
		sizes := make([]int, subtasks)
		last := 0
		for g := range groups {
			s := engine.SubtaskOf(g, groups, subtasks)
			if s < last || s > last+1 || s >= subtasks {
				t.Fatalf("group %d belongs to %d, the one before to %d", g, s, last)
			}
			last = s
			sizes[s]++
		}
		for s, n := range sizes {
			if least := groups / subtasks; n < least || n > least+1 {
				t.Fatalf("subtask %d has %d of %d groups", s, n, groups)
			}
		}
	})
}

// The last watermark comes before the end of the input, not as one with it: what a timer sets for no later than that fires, with
// however many subtasks.
func TestTheLastWatermarkIsNotTheEnd(t *testing.T) {
	for parallelism := range 5 {
		for range 20 {
			var rows engine.Rows[string]
			g := engine.New(engine.Config{Parallelism: parallelism})
			s := engine.EventTime(engine.From(g, watched{[]event{{"a", 0, 0}, {"b", 100, 0}}, calm().before}), nil, engine.Ascending())
			out := engine.Process(engine.KeyBy(s, func(e event) string { return e.Key }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, string] {
				timers := op.Timers()
				engine.OnTimer(op, func(_ engine.Context, t engine.Timer[string], emit func(string)) error {
					timers.RegisterEventTime(t.Time + 20)
					emit(fmt.Sprint(t.Key, t.Time))
					return nil
				})
				return func(_ engine.Context, _ string, e event, _ func(string)) error {
					timers.RegisterEventTime(e.TS + 50)
					return nil
				}
			})
			engine.ToRows(out, &rows)
			if err := build(t, g).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"a110", "a50", "a70", "a90", "b150"}, sorted(rows.All())); d != "" {
				t.Fatalf("parallelism %d: %s", parallelism, d)
			}
		}
	}
}
