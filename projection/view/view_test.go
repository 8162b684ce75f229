package view_test

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/projection/view"
)

// log is a log in memory; its positions count the entries from 1-0, unless an entry says when it came in.
type log []entry

type entry struct {
	events.Envelope
	ms uint64
}

func (l log) entries() iter.Seq2[events.Position, events.Envelope] {
	return func(yield func(events.Position, events.Envelope) bool) {
		for i, e := range l {
			if !yield(events.Position{Ms: max(e.ms, uint64(i+1))}, e.Envelope) {
				return
			}
		}
	}
}

// parse reads "<at>[@<log>] <kind> <data>" lines, where at is in milliseconds, log those of the position, and data is the
// JSON of the wire.
func parse(t *testing.T, input string) (l log) {
	t.Helper()
	for text := range strings.Lines(input) {
		at, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		at, came, _ := strings.Cut(at, "@")
		ms, _ := strconv.ParseUint(came, 10, 64) // 0 without
		kind, data, _ := strings.Cut(rest, " ")
		payload := fmt.Sprintf(`{"v":1,"kind":%q,"at":%s,"data":%s}`, kind, at, data)
		e, err := events.Decode(events.EventID(fmt.Sprintf("e%d", len(l))), []byte(payload))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		l = append(l, entry{e, ms})
	}
	return l
}

// without is an event without a time, of no id.
func without(e events.Event) entry { return entry{Envelope: events.Envelope{Event: e}} }

func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var l log
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "log":
				l = append(l, parse(t, d.Input)...)
				return fmt.Sprintf("%d entries\n", len(l))
			case "story":
				return tell(view.Story(l.entries(), checkpoint(t, d)))
			case "table":
				s := projection.New("")
				for pos, e := range l.entries() {
					s.Apply(pos, e)
				}
				return table(view.Table(s))
			}
			t.Fatalf("no such command: %s", d.Cmd)
			return ""
		})
	})
}

func checkpoint(t *testing.T, d *datadriven.TestData) events.CheckpointID {
	n, err := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return events.CheckpointID(n)
}

func tell(story []view.Line) string {
	var b strings.Builder
	for _, l := range story {
		fmt.Fprintf(&b, "%-5s %s\n", l.Position, l)
	}
	fmt.Fprintf(&b, "=> %s\n", view.Explain(story))
	return b.String()
}

func table(rows []view.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s %s %s after %s, %d/%d, %s", r.Type, r.ID, r.Status, r.Reason, r.Duration, r.Acked, r.Required,
			view.Bytes(r.Bytes))
		if r.Forced {
			b.WriteString(" forced")
		}
		if len(r.Missing) > 0 {
			fmt.Fprintf(&b, " missing %s", r.Missing)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTheStateOfThePastIsThatUpToAPosition(t *testing.T) {
	l := parse(t, `1 coordinator_started {"epoch":1,"instance":"c1","policy":{"count":1,"max_concurrent":1,"retain":1,"queue_limit":1}}
2 checkpoint_triggered {"epoch":1,"checkpoint":0,"type":"checkpoint","count":1}
3 checkpoint_failed {"epoch":1,"checkpoint":0,"reason":"expired"}`)
	if got := view.Until(l.entries(), events.Position{Ms: 2}); len(got.Live()) != 1 || got.Position().Ms != 2 {
		t.Errorf("%d live at %s", len(got.Live()), got.Position())
	}
	if got := view.Until(l.entries(), events.End); len(got.Live()) != 0 {
		t.Errorf("%d live at the end", len(got.Live()))
	}
}

func TestAStoryGoesOnFromASavedFoldAndLeavesItAlone(t *testing.T) {
	l := parse(t, `1 coordinator_started {"epoch":1,"instance":"c1","policy":{"count":2,"max_concurrent":1,"retain":1,"queue_limit":1}}
2 checkpoint_triggered {"epoch":1,"checkpoint":0,"type":"checkpoint","count":2}
3 task_acked {"checkpoint":0,"task":"a","epoch":1}
4 task_acked {"checkpoint":0,"task":"b","epoch":1}`)
	base := view.Until(l.entries(), events.Position{Ms: 3})
	story := view.StoryFrom(base, l.entries(), 0)
	if len(story) != 1 || story[0].Task != "b" || story[0].Acked != 2 {
		t.Errorf("the story is %v", story)
	}
	if c := base.Live()[0]; c.Acked != 1 {
		t.Errorf("the base has %d acks", c.Acked)
	}
}

func TestALongStoryIsBounded(t *testing.T) {
	l := parse(t, `1 coordinator_started {"epoch":1,"instance":"c1","policy":{"count":1,"max_concurrent":1,"retain":1,"queue_limit":1}}
2 checkpoint_triggered {"epoch":1,"checkpoint":0,"type":"checkpoint","count":1}`)
	for range view.MaxLines + 10 {
		l = append(l, without(&events.TaskAcked{Checkpoint: 0, Task: "a", Epoch: 9}))
	}
	l = append(l, without(&events.CheckpointFailed{Epoch: 1, Checkpoint: 0, Reason: events.FailedExpired}))
	story := view.Story(l.entries(), 0)
	if len(story) != view.MaxLines+1 || story[len(story)-1].Kind != events.KindCheckpointFailed {
		t.Errorf("%d lines", len(story))
	}
}

func TestAStoryAfterItsCheckpointIsForgottenKeepsItsEnd(t *testing.T) {
	l := parse(t, `1 coordinator_started {"epoch":1,"instance":"c1","policy":{"count":1,"max_concurrent":1,"retain":1,"queue_limit":1}}`)
	for id := range events.CheckpointID(projection.MaxHistory + 5) {
		l = append(l,
			without(&events.CheckpointTriggered{Epoch: 1, Checkpoint: id, Type: events.TypeCheckpoint, Count: 1}),
			without(&events.CheckpointFailed{Epoch: 1, Checkpoint: id, Reason: events.FailedExpired}),
			without(&events.StateDiscarded{Epoch: 1, Checkpoints: []events.CheckpointID{id}}))
	}
	story := view.Story(l.entries(), 0)
	if len(story) != 3 || !strings.HasPrefix(view.Explain(story), "expired at T+0.001 s; 0/1 acks") {
		t.Errorf("%d lines: %s", len(story), view.Explain(story))
	}
}

func TestSizesAreForPeople(t *testing.T) {
	for n, want := range map[int64]string{-1: "0 B", 0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 1 << 60: "1048576.0 TiB"} {
		if got := view.Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
