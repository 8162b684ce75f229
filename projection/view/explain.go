package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// Explain says in one sentence how a story ended, or how far it has come:
// "expired at T+60.002 s; 7/8 acks; missing sink-3; 1 answer came too late".
func Explain(story []Line) string {
	end, last, late := verdict(story)
	if last == nil || last.Phase == 0 {
		return "never triggered in this log"
	}
	parts := []string{last.Phase.String()}
	if end != nil {
		parts[0] = ending(end)
	}
	parts = append(parts, fmt.Sprintf("%d/%d acks", last.Acked, last.Required))
	tail := &story[len(story)-1]
	if end != nil {
		tail = end
	}
	if len(tail.Missing) > 0 {
		parts = append(parts, strings.TrimPrefix(missing(tail.Missing, tail.Required-tail.Acked), "; "))
	} else if slow := slowest(story); slow != "" {
		parts = append(parts, slow)
	}
	if late > 0 {
		parts = append(parts, count(late, "answer", "answers")+" came too late")
	}
	switch why := withdrawn(story); {
	case why != "":
		parts = append(parts, "withdrawn since"+because(why))
	case end != nil && last.Phase == projection.PhaseRetired:
		parts = append(parts, "retired since")
	}
	return strings.Join(parts, "; ")
}

// verdict finds the line that ended the checkpoint, the last line, and how many answers came after the end.
func verdict(story []Line) (end, last *Line, late int) {
	for i := range story {
		l := &story[i]
		if l.Phase != 0 {
			last = l
		}
		if end == nil && l.Phase.Terminal() {
			end = l
		}
		answer := l.Kind == events.KindTaskAcked || l.Kind == events.KindTaskDeclined
		if end != nil && l != end && answer && l.Outcome.Kind == projection.Late {
			late++
		}
	}
	return end, last, late
}

// withdrawn is why it was; empty if it was not.
func withdrawn(story []Line) string {
	for _, l := range story {
		if l.Withdrawn != "" {
			return l.Withdrawn
		}
	}
	return ""
}

func ending(end *Line) string {
	switch {
	case end.Phase == projection.PhaseCompleted && end.Acked < end.Required:
		return "completed by force at " + Offset(end.Offset)
	case end.Phase == projection.PhaseCompleted:
		return "completed at " + Offset(end.Offset)
	case end.Reason == events.FailedExpired: // its cause only counts the acks
		return string(end.Reason) + " at " + Offset(end.Offset)
	}
	return string(end.Reason) + " at " + Offset(end.Offset) + because(end.Cause)
}

// slowest names the task whose ack came last.
func slowest(story []Line) string {
	for _, l := range slices.Backward(story) {
		if l.Kind == events.KindTaskAcked && l.Outcome.Changed() {
			return fmt.Sprintf("last ack by %s at %s", l.Task, Offset(l.Offset))
		}
	}
	return ""
}
