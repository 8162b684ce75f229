package projection_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// dump shows the state as lines, one for each thing, so that the golden logs can show what changed.
func dump(s *projection.State) []string {
	out := []string{
		fmt.Sprintf("epoch %s of %s (highest seen %s)", s.Epoch(), orNone(string(s.Instance())), s.MaxEpoch()),
		fmt.Sprintf("next id %s, latest completed %s", s.NextID(), s.LatestCompleted()),
	}
	for _, t := range s.Tasks() {
		line := fmt.Sprintf("task %s: attempt %s of %s %s, restore point %s", t.ID, t.Attempt, t.Instance, t.Phase, t.Restore)
		if t.Pinned {
			line += " (pinned)"
		}
		if d := t.Doubt; !d.IsZero() {
			line += fmt.Sprintf(", attempt %s doubts %s: %s", d.Attempt, d.Checkpoint, d.Reason)
		}
		out = append(out, line)
	}
	for _, list := range [][]projection.Checkpoint{s.Live(), s.Completed(), s.Savepoints(), s.Waste()} {
		for _, c := range list {
			out = append(out, dumpCheckpoint(c))
		}
	}
	out = append(out, queueAndOwed(s)...)
	if !s.Trimmed().IsZero() {
		out = append(out, "trimmed before "+s.Trimmed().String())
	}
	if gap, n := s.Gap(); n > 0 {
		out = append(out, fmt.Sprintf("gap %d: %s between %s and %s", n, gap.Cause, gap.After, gap.Before))
	}
	return out
}

func dumpCheckpoint(c projection.Checkpoint) string {
	line := fmt.Sprintf("%s %s: %s %d/%d", c.Type, c.ID, c.Phase, c.Acked, c.Required)
	if c.Forced {
		line += " forced"
	}
	if missing := c.StillMissing(); len(missing) > 0 {
		line += fmt.Sprintf(" missing %s", join(missing))
	}
	if c.Decline.Task != "" {
		line += fmt.Sprintf(", declined by %s", c.Decline.Task)
	}
	if c.Abort.Request != "" {
		line += fmt.Sprintf(", to be aborted by %s", c.Abort.Request)
	}
	if c.Reason != "" {
		line += fmt.Sprintf(", %s", c.Reason)
	}
	if c.Withdrawn {
		line += ", withdrawn"
	}
	var chunks []string
	for a := range c.Acks() {
		mark := ""
		if a.Carried {
			mark = "*"
		}
		for _, ref := range a.Handle.Chunks {
			chunks = append(chunks, string(a.Task)+mark+"="+undigest(ref.Digest))
		}
	}
	if len(chunks) > 0 {
		line += " [" + strings.Join(chunks, " ") + "]"
	}
	return line
}

// queueAndOwed shows the requests that wait for something, by the only ids the golden logs use.
func queueAndOwed(s *projection.State) (out []string) {
	for i := range 100 {
		id := events.RequestID(fmt.Sprintf("r%d", i))
		r, ok := s.Request(id)
		if !ok {
			continue
		}
		line := fmt.Sprintf("request %s: %s", id, r.Status)
		if !r.Checkpoint.IsZero() {
			line += " " + r.Checkpoint.String()
		}
		if r.Reason != "" {
			line += " " + string(r.Reason)
		}
		out = append(out, line)
	}
	return out
}

func changes(before, after []string) (out []string) {
	for _, l := range before {
		if !slices.Contains(after, l) {
			out = append(out, "  - "+l)
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			out = append(out, "  + "+l)
		}
	}
	return out
}

func showOutcome(s *projection.State, o projection.Outcome) string {
	line := o.Kind.String()
	if o.Why != "" {
		line += " (" + o.Why + ")"
	}
	if o.Ended > 0 {
		line += ", ended " + join(s.Ended())
	}
	return line
}

func showDecision(d projection.Decision) string {
	switch d := d.(type) {
	case projection.Trigger:
		line := fmt.Sprintf("Trigger %s %s %q", d.Type, d.ID, d.Cause)
		if d.Request != "" {
			line += " for " + string(d.Request)
		}
		for _, t := range d.Tasks {
			line += fmt.Sprintf(" %s:%s", t.Task, t.Attempt)
		}
		if d.Count > 0 {
			line += fmt.Sprintf(" count %d", d.Count)
		}
		if d.JoiningEvent != "" {
			line += " joining " + d.JoiningEvent
		}
		if d.Timeout > 0 {
			line += " timeout " + d.Timeout.String()
		}
		return line
	case projection.Refuse:
		return fmt.Sprintf("Refuse %s %s: %s", d.Request, d.Reason, d.Remedy)
	case projection.Fail:
		return fmt.Sprintf("Fail %s %s: %s; missing %s", d.ID, d.Reason, d.Text, orNone(join(d.Missing)))
	case projection.Finalize:
		return fmt.Sprintf("Finalize %s", d.ID)
	case projection.Lose:
		return fmt.Sprintf("Lose %s attempt %s", d.Task, d.Attempt)
	case projection.Examine:
		line := "Examine " + d.ID.String()
		if len(d.Tasks) > 0 {
			line += " as doubted by " + join(d.Tasks)
		}
		if d.Request != "" {
			line += fmt.Sprintf(" for %s (forced %t, to nothing %t)", d.Request, d.Forced, d.ToNothing)
		}
		return line
	case projection.Retire:
		return "Retire " + join(d.IDs)
	case projection.Discard:
		return "Discard " + join(d.IDs)
	}
	return fmt.Sprintf("unknown decision %T", d)
}

func join[T fmt.Stringer](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = w.String()
	}
	return strings.Join(words, " ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// effect is the event that a coordinator logs once it has carried out a decision.
func effect(s *projection.State, d projection.Decision) events.Event {
	epoch := s.Epoch()
	switch d := d.(type) {
	case projection.Trigger:
		return &events.CheckpointTriggered{
			Epoch: epoch, Checkpoint: d.ID, Type: d.Type, Request: d.Request, Cause: d.Cause, Tasks: d.Tasks, Count: d.Count,
			Timeout: int64(d.Timeout / time.Millisecond), JoiningEvent: d.JoiningEvent,
		}
	case projection.Refuse:
		return &events.RequestRefused{Epoch: epoch, Request: d.Request, Reason: d.Reason, Remedy: d.Remedy}
	case projection.Fail:
		return &events.CheckpointFailed{Epoch: epoch, Checkpoint: d.ID, Reason: d.Reason, Missing: d.Missing, Text: d.Text}
	case projection.Finalize:
		return &events.CheckpointCompleted{Epoch: epoch, Checkpoint: d.ID}
	case projection.Lose:
		return &events.TaskLost{Epoch: epoch, Task: d.Task, Attempt: d.Attempt}
	case projection.Examine: // always found bad, and the operator bold
		return &events.CheckpointsWithdrawn{
			Epoch: epoch, Checkpoints: []events.CheckpointID{d.ID}, Request: d.Request, ToNothing: true, Why: "not readable",
		}
	case projection.Retire:
		return &events.CheckpointsRetired{Epoch: epoch, Checkpoints: d.IDs}
	case projection.Discard:
		return &events.StateDiscarded{Epoch: epoch, Checkpoints: d.IDs}
	}
	return nil
}
