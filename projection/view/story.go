package view

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// MaxLines bounds a story. It holds a checkpoint of 10 000 tasks several times over; beyond it only lines that change the
// checkpoint are told.
const MaxLines = 50000

// Line is one event of a checkpoint's story.
type Line struct {
	Position events.Position
	// At is the event's own timestamp, in milliseconds since 1970 UTC. For an event that names none it is the log's, the
	// milliseconds of its position.
	At int64
	// Offset is At less the trigger's; never negative after the trigger.
	Offset time.Duration
	Kind   events.Kind
	// Task is the one that the event is about; empty if none.
	Task events.TaskID
	// Text says in a sentence what the event did to the checkpoint.
	Text string
	// Outcome is what the fold made of the event; the zero Kind is Applied.
	Outcome projection.Outcome
	// Phase, Acked and Required are the checkpoint's after the event; zero before its trigger.
	Phase           projection.Phase
	Acked, Required int
	// Withdrawn is why the checkpoint was withdrawn, on the line that withdrew it.
	Withdrawn string
	// Reason and Cause are set on the line that ended it badly. Missing names the tasks without an ack on the line that
	// ended it, and on the last line while it is live.
	Reason  events.FailureReason
	Cause   string
	Missing []events.TaskID
}

// String is the line as the command line shows it, without position.
func (l Line) String() string {
	return fmt.Sprintf("%-11s %-21s %-10s %s", Offset(l.Offset), l.Kind, l.Task, l.Text)
}

// Offset is a time relative to the trigger: "T+60.002 s".
func Offset(d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("T%s%.3f s", sign, d.Seconds())
}

// Story folds the log from its start and tells what happened to one checkpoint. See [StoryFrom].
func Story(entries iter.Seq2[events.Position, events.Envelope], id events.CheckpointID) []Line {
	return StoryFrom(projection.New(""), entries, id)
}

// StoryFrom goes on from a saved fold, for a log whose start was trimmed. The state is not changed. Empty if the
// checkpoint is not in the entries.
func StoryFrom(base *projection.State, entries iter.Seq2[events.Position, events.Envelope], id events.CheckpointID) []Line {
	t := teller{state: base.Clone(), id: id}
	t.now, _ = t.state.Checkpoint(id)
	for pos, e := range entries {
		t.hear(pos, e)
	}
	if n := len(t.lines); n > 0 && !t.now.Phase.Terminal() {
		t.lines[n-1].Missing = t.now.StillMissing()
	}
	return t.lines
}

// teller folds a log and keeps the lines about one checkpoint.
type teller struct {
	state *projection.State
	id    events.CheckpointID
	now   projection.Checkpoint // as the last event left it
	lines []Line
	// asked holds requests for a checkpoint that have no answer yet, oldest first, at most projection.MaxRequests.
	asked []Line
	names []events.RequestID
}

func (t *teller) hear(pos events.Position, e events.Envelope) {
	o := t.state.Apply(pos, e)
	if o.Kind == projection.Replayed {
		return
	}
	before := t.now
	t.look()
	line := Line{Position: pos, At: timeOf(pos, e.At), Kind: e.Kind(), Task: o.Task, Outcome: o}
	if r, ok := e.Event.(*events.CheckpointRequested); ok && o.Changed() {
		t.remember(r, line)
	}
	changed := before.Phase != t.now.Phase || before.Acked != t.now.Acked || before.Abort != t.now.Abort
	if !changed && (!names(e.Event, t.id) || len(t.lines) >= MaxLines) {
		return
	}
	if before.Phase == 0 && t.now.Phase != 0 {
		t.recall()
	}
	line.Text = sentence(e.Event, o, before, t.now)
	t.add(line, before)
}

// look takes the checkpoint's view after an event. Once it is discarded the state knows only how it ended, and after a
// thousand others nothing: the story keeps what it has seen.
func (t *teller) look() {
	now, ok := t.state.Checkpoint(t.id)
	if !ok {
		return
	}
	if t.now.Phase == projection.PhaseRetired {
		now.Phase = projection.PhaseRetired
	}
	t.now = now
}

// add puts in what the checkpoint looks like after the event.
func (t *teller) add(line Line, before projection.Checkpoint) {
	line.Phase, line.Acked, line.Required = t.now.Phase, t.now.Acked, t.now.Required
	if t.now.Phase != 0 {
		line.Offset = max(since(t.now, line.At), 0)
	}
	if t.now.Phase.Terminal() && !before.Phase.Terminal() {
		line.Reason, line.Cause, line.Missing = t.now.Reason, t.now.Text, slices.Clone(t.now.Missing)
	}
	if t.now.Withdrawn && !before.Withdrawn {
		line.Withdrawn = cmp.Or(t.now.Text, "no reason was given")
	}
	t.lines = append(t.lines, line)
}

// since is the time from the trigger to another time.
func since(c projection.Checkpoint, at int64) time.Duration {
	return time.Duration(at-timeOf(c.Triggered, c.TriggeredAt)) * time.Millisecond
}

// timeOf is the timestamp of an event, or when it came into the log: a writer need not name one.
func timeOf(pos events.Position, at int64) int64 {
	if at > 0 {
		return at
	}
	return int64(min(pos.Ms, math.MaxInt64)) //nolint:gosec // bounded
}

// remember keeps a request until it is known whether this checkpoint is its answer.
func (t *teller) remember(r *events.CheckpointRequested, line Line) {
	if t.now.Phase != 0 {
		return
	}
	if len(t.asked) >= projection.MaxRequests {
		t.asked, t.names = t.asked[1:], t.names[1:]
	}
	line.Text = orSomebody(r.By) + " asked for a " + string(r.Type) + because(r.Cause)
	t.asked, t.names = append(t.asked, line), append(t.names, r.Request)
}

// recall begins the story with the request that the checkpoint answers.
func (t *teller) recall() {
	if i := slices.Index(t.names, t.now.Request); i >= 0 && t.now.Request != "" {
		line := t.asked[i]
		line.Offset = since(t.now, line.At)
		t.lines = append(t.lines, line)
	}
	t.asked, t.names = nil, nil
}

// names reports whether the event is about the checkpoint by its own words.
func names(e events.Event, id events.CheckpointID) bool {
	switch e := e.(type) {
	case *events.CheckpointTriggered:
		return e.Checkpoint == id
	case *events.TaskAcked:
		return e.Checkpoint == id
	case *events.TaskDeclined:
		return e.Checkpoint == id
	case *events.CheckpointCompleted:
		return e.Checkpoint == id
	case *events.CheckpointFailed:
		return e.Checkpoint == id
	case *events.TaskRestored:
		return e.Checkpoint == id
	case *events.TaskRestoreFailed:
		return e.Checkpoint == id
	case *events.WithdrawalRequested:
		return e.Checkpoint == id
	case *events.TaskFinished:
		return e.Checkpoint == id
	case *events.CheckpointsRetired:
		return slices.Contains(e.Checkpoints, id)
	case *events.CheckpointsWithdrawn:
		return slices.Contains(e.Checkpoints, id)
	case *events.StateDiscarded:
		return slices.Contains(e.Checkpoints, id)
	case *events.CoordinatorStarted, *events.CheckpointRequested, *events.AbortRequested, *events.RequestRefused,
		*events.TaskRegistered, *events.TaskLeft, *events.TaskLost, *events.LogTrimmed, *events.LogGapFound:
		return false
	}
	return false
}
