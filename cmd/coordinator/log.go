package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/internal/cli"
	"github.com/tidemark-stream/tidemark/cmd/internal/target"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// logVerb is the flags of "log".
type logVerb struct {
	target   target.Flags
	out      cli.Output
	follow   bool
	from, to string
	kinds    []string
	limit    int
}

func logCommand() *cobra.Command {
	l := &logVerb{}
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Print the events of the job, in order",
		Long: `Print the events of the job, in order. With -o json each line is one entry of the log, with its position and its payload
as it stands there; poison entries come with their reason.`,
		Example: `  coordinator log
  coordinator log --follow --kind task_declined,checkpoint_failed
  coordinator log --from 1764453600000-0 -o json > job.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	l.target.Add(cmd)
	l.out.Flag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&l.follow, "follow", "f", false, "go on with what is appended, until interrupted")
	f.StringVar(&l.from, "from", "", "first position, ms-seq; default the beginning")
	f.StringVar(&l.to, "to", "", "last position, ms-seq; default the end")
	f.StringSliceVar(&l.kinds, "kind", nil, "only events of these kinds, and poison for the entries that are none")
	f.IntVar(&l.limit, "limit", 0, "stop after that many; 0 means never")
	return cmd
}

// errEnough ends the reading.
var errEnough = errors.New("enough")

func (l *logVerb) run(cmd *cobra.Command) error {
	from, to, err := l.positions()
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	t, err := l.target.Open(ctx, zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // the process ends anyway
	printed := 0
	show := func(e eventlog.Entry) error {
		if !l.wants(e) {
			return nil
		}
		if err := l.out.Print(cmd, lineOf(e), func(p *cli.Printer) { printEntry(p, e) }); err != nil {
			return err
		}
		if printed++; printed == l.limit {
			return errEnough
		}
		return nil
	}
	last, err := readAll(ctx, t, from, to, show)
	if err == nil && l.follow {
		err = followAll(ctx, t, last, show)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (l *logVerb) check() error {
	if l.limit < 0 {
		return cli.Usagef("--limit %d is negative", l.limit)
	}
	for _, k := range l.kinds {
		if k != poisonKind && !slices.Contains(events.Kinds(), events.Kind(k)) {
			return cli.Usagef("--kind %q is neither %s nor one of %v", k, poisonKind, events.Kinds())
		}
	}
	return nil
}

// poisonKind chooses the entries that are no events.
const poisonKind = "poison"

func (l *logVerb) positions() (from, to events.Position, err error) {
	from, to = events.Start, events.End
	if l.from != "" {
		if from, err = events.ParsePosition(l.from); err != nil {
			return from, to, cli.Usagef("--from: %w", err)
		}
	}
	if l.to != "" {
		if to, err = events.ParsePosition(l.to); err != nil {
			return from, to, cli.Usagef("--to: %w", err)
		}
		if l.follow {
			return from, to, cli.Usagef("--follow has no end, so it does not go with --to")
		}
	}
	return from, to, nil
}

func (l *logVerb) wants(e eventlog.Entry) bool {
	if e.Poison != nil {
		return len(l.kinds) == 0 || slices.Contains(l.kinds, poisonKind)
	}
	return len(l.kinds) == 0 || slices.Contains(l.kinds, string(e.Envelope.Kind()))
}

func readAll(ctx context.Context, t *target.Target, from, to events.Position, show func(eventlog.Entry) error) (events.Position, error) {
	last := events.Start
	for batch, err := range t.Log.Read(ctx, from, to) {
		if errors.Is(err, eventlog.ErrNoLog) {
			return last, noLog(t)
		}
		if err != nil {
			return last, err
		}
		for _, e := range batch.Entries {
			last = e.Position
			if err := show(e); err != nil {
				return last, err
			}
		}
	}
	return last, nil
}

// followAll prints until ctx ends, which is no error: it is how a person ends it.
func followAll(ctx context.Context, t *target.Target, after events.Position, show func(eventlog.Entry) error) error {
	for batch, err := range t.Log.Follow(ctx, after, eventlog.FollowOptions{}) {
		if err != nil {
			return err
		}
		for _, e := range batch.Entries {
			if err := show(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// logLine is one entry for a program.
type logLine struct {
	Position events.Position `json:"position"`
	ID       events.EventID  `json:"id,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Poison   string          `json:"poison,omitempty"`
	Text     string          `json:"text,omitempty"`
}

func lineOf(e eventlog.Entry) logLine {
	if e.Poison != nil {
		return logLine{Position: e.Position, Poison: string(e.Poison.Reason), Text: e.Poison.Text}
	}
	payload, err := e.Envelope.Encode(nil)
	if err != nil { // it was decoded, so it can be encoded
		return logLine{Position: e.Position, ID: e.Envelope.ID, Text: err.Error()}
	}
	return logLine{Position: e.Position, ID: e.Envelope.ID, Payload: payload}
}

func printEntry(p *cli.Printer, e eventlog.Entry) {
	if e.Poison != nil {
		p.Line("%-18s %s", e.Position, p.Red(fmt.Sprintf("poison: %s: %s", e.Poison.Reason, e.Poison.Text)))
		return
	}
	at := time.UnixMilli(e.Envelope.At).UTC().Format("15:04:05.000")
	p.Line("%-18s %s  %s %s", e.Position, p.Dim(at), p.Bold(fmt.Sprintf("%-20s", e.Envelope.Kind())), details(e.Envelope))
}

// details is the data of an event on one line, without what stands before it.
func details(env events.Envelope) string {
	payload, err := env.Encode(nil)
	if err != nil {
		return err.Error()
	}
	var fields struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(payload, &fields); err != nil {
		return err.Error()
	}
	const longest = 160
	text := strings.Trim(string(fields.Data), "{}")
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return text
}
