package view

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// sentence says what an event did to a checkpoint. It is one total switch over the kinds.
func sentence(e events.Event, o projection.Outcome, before, now projection.Checkpoint) string { //nolint:funlen // one total switch
	if !o.Changed() {
		return refusal(e, o)
	}
	ended := ""
	if now.Phase == projection.PhaseFailed && before.Phase != now.Phase {
		ended = ", which ended it as " + string(now.Reason)
	}
	switch e := e.(type) {
	case *events.CoordinatorStarted:
		return fmt.Sprintf("coordinator %s started epoch %s%s", e.Instance, e.Epoch, ended)
	case *events.AbortRequested:
		return orSomebody(e.By) + " asked to abort everything up to " + e.UpTo.String() + because(e.Cause)
	case *events.CheckpointTriggered:
		return triggered(e) + ended
	case *events.TaskRegistered:
		return fmt.Sprintf("instance %s took over as attempt %s%s", e.Instance, o.Attempt, ended)
	case *events.TaskRestored:
		return fmt.Sprintf("attempt %s restored it", e.Attempt)
	case *events.TaskRestoreFailed:
		return fmt.Sprintf("attempt %s could not restore it: %s%s", e.Attempt, e.Reason, because(e.Text))
	case *events.WithdrawalRequested:
		return orSomebody(e.By) + " asked to withdraw it" + because(e.Cause)
	case *events.TaskFinished:
		if e.Checkpoint == now.ID {
			return "finished: its end state is in this checkpoint"
		}
		return fmt.Sprintf("finished with checkpoint %s, and counts as acked (%d of %d)", e.Checkpoint, now.Acked, now.Required)
	case *events.TaskLeft:
		return fmt.Sprintf("attempt %s left%s%s", e.Attempt, because(e.Text), ended)
	case *events.TaskLost:
		return fmt.Sprintf("attempt %s was lost%s", e.Attempt, ended)
	case *events.TaskAcked:
		return acked(e, o, now)
	case *events.TaskDeclined:
		return "declined: " + string(e.Reason) + because(e.Text)
	case *events.CheckpointCompleted:
		if e.Checkpoint != now.ID {
			return "checkpoint " + e.Checkpoint.String() + " completed" + ended
		}
		return completed(e, now)
	case *events.CheckpointFailed:
		return "failed: " + string(e.Reason) + because(e.Text) + missing(now.Missing, now.MissingCount)
	case *events.CheckpointsRetired:
		return "retired: it is no longer kept" + because(e.Why)
	case *events.CheckpointsWithdrawn:
		return "withdrawn: no task restores it any more" + because(e.Why)
	case *events.StateDiscarded:
		return "its state was discarded" + because(e.Why)
	case *events.CheckpointRequested, *events.RequestRefused, *events.LogTrimmed, *events.LogGapFound:
		return string(e.Kind())
	}
	return ""
}

func triggered(e *events.CheckpointTriggered) string {
	need := count(len(e.Tasks), "task", "tasks")
	if e.Count > 0 {
		need = "any " + count(int(e.Count), "task", "tasks")
	}
	text := fmt.Sprintf("triggered in epoch %s%s; needs acks of %s", e.Epoch, because(e.Cause), need)
	if e.JoiningEvent != "" {
		text += fmt.Sprintf(" under %q", e.JoiningEvent)
	}
	if e.Timeout > 0 {
		text += fmt.Sprintf(" within %.1f s", float64(e.Timeout)/1000)
	}
	return text
}

func acked(e *events.TaskAcked, o projection.Outcome, now projection.Checkpoint) string {
	text := fmt.Sprintf("acked (%d of %d)", now.Acked, now.Required)
	if e.Handle.IsZero() {
		text += ", no state"
	} else {
		text += ", " + Bytes(e.Handle.Bytes())
		if n := len(e.Handle.Chunks); n > 0 {
			text += " in " + count(n, "chunk", "chunks")
		}
	}
	if e.Measures.Sync > 0 || e.Measures.Async > 0 {
		text += fmt.Sprintf(", cut %d ms, upload %d ms", max(e.Measures.Sync, 0), max(e.Measures.Async, 0))
	}
	if o.Kind == projection.Completing {
		text += "; it was the last: finalizing"
	}
	return text
}

func completed(e *events.CheckpointCompleted, now projection.Checkpoint) string {
	text := "completed, " + Bytes(e.Bytes)
	if now.Forced {
		text += fmt.Sprintf(", forced with %d of %d acks%s", now.Acked, now.Required, missing(now.Missing, now.MissingCount))
	}
	return text
}

// refusal says that an event did not count, and why.
func refusal(e events.Event, o projection.Outcome) string {
	what := "refused"
	switch e.(type) {
	case *events.TaskAcked:
		what = "ack refused"
	case *events.TaskDeclined:
		what = "decline refused"
	case *events.CheckpointCompleted:
		what = "verdict completed refused"
	case *events.CheckpointFailed:
		what = "verdict failed refused"
	case *events.CheckpointTriggered:
		what = "trigger refused"
	default: // the kind stands in its own column
	}
	if o.Kind == projection.Duplicate {
		what = strings.Replace(what, "refused", "not counted again", 1)
	}
	if o.Kind == projection.Refused {
		return what + because(o.Why)
	}
	return what + ": " + o.Kind.String() + because(o.Why)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func orSomebody(by string) string {
	if by == "" {
		return "somebody"
	}
	return by
}

// missing names up to five tasks.
func missing(ids []events.TaskID, count int) string {
	if count == 0 || len(ids) == 0 {
		return ""
	}
	shown := ids[:min(len(ids), 5)]
	words := make([]string, len(shown))
	for i, id := range shown {
		words[i] = string(id)
	}
	if more := max(count, len(ids)) - len(shown); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return "; missing " + strings.Join(words, ", ")
}

// Bytes is a size for a person: "1.2 MiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(max(n, 0)), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
