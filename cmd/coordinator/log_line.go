package main

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/projection"
)

// logLine is one entry for a program.
type logLine struct {
	Position events.Position   `json:"position"`
	ID       events.EventID    `json:"id,omitempty"`
	Payload  json.RawMessage   `json:"payload,omitempty"`
	Poison   string            `json:"poison,omitempty"`
	Text     string            `json:"text,omitempty"`
	Ended    []endedCheckpoint `json:"ended,omitempty"`

	envelope *events.Envelope // nil for poison
}

func lineOf(e eventlog.Entry, ended []endedCheckpoint) logLine {
	if e.Poison != nil {
		return logLine{Position: e.Position, Poison: string(e.Poison.Reason), Text: e.Poison.Text}
	}
	line := logLine{Position: e.Position, ID: e.Envelope.ID, Ended: ended, envelope: &e.Envelope}
	var err error
	if line.Payload, err = e.Envelope.Encode(nil); err != nil { // it was decoded, so it can be encoded
		line.Payload, line.Text = nil, err.Error()
	}
	return line
}

func (l logLine) kind() string {
	if l.envelope == nil {
		return poisonKind
	}
	return string(l.envelope.Kind())
}

// print writes the entry whole, but for a terminal, where it is one line.
func (l logLine) print(p *cli.Printer) {
	position := fmt.Sprintf("%-18s", l.Position)
	if l.envelope == nil {
		p.Line("%s %s", position, p.Red(fmt.Sprintf("poison: %s: %s", l.Poison, l.Text)))
		return
	}
	at := time.UnixMilli(l.envelope.At).UTC().Format("15:04:05.000")
	kind := fmt.Sprintf("%-21s", l.kind())
	before := utf8.RuneCountInString(position + " " + at + "  " + kind + " ")
	p.Line("%s %s  %s %s", position, p.Dim(at), p.Bold(kind), cut(l.details(), p.Width()-before))
	for _, e := range l.Ended {
		word := fmt.Sprintf("%s: %s", e.Status, e.Reason)
		if e.Reason == "" {
			word = e.Status
		}
		if e.Status == projection.PhaseFailed.String() {
			word = p.Red(word)
		} else {
			word = p.Green(word)
		}
		p.Line("%-18s → checkpoint %s %s", "", e.Checkpoint, word)
	}
}

// details is the data of the event, without what stands before it on the line.
func (l logLine) details() string {
	var fields struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(l.Payload, &fields); err != nil {
		return l.Text
	}
	return string(fields.Data)
}

// leastCut is the shortest text that a line is cut to: a narrow terminal wraps.
const leastCut = 20

// cut shortens a text to that many columns; a width that is not known, which is not positive, cuts nothing.
func cut(text string, width int) string {
	if width < leastCut || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
