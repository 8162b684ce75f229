package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/projection/view"
)

func showCommand() *cobra.Command {
	var flags target.Flags
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "show id",
		Short: "Tell the story of one checkpoint, event by event, and why it ended as it did",
		Long: `Tell the story of one checkpoint by folding the log again: every event that is about it, with what became of that event,
also of those that did not count (a late ack, a task that was not asked). The last line says why it ended as it did.`,
		Example: "  coordinator show 41\n  coordinator show 41 -o json | jq .verdict",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := events.ParseCheckpointID(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			ctx := cmd.Context()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			return show(ctx, cmd, &out, t, id)
		},
	}
	flags.Add(cmd)
	out.Flag(cmd)
	return cmd
}

// story is a checkpoint's for a program.
type storyJSON struct {
	Checkpoint events.CheckpointID `json:"checkpoint"`
	Verdict    string              `json:"verdict"`
	Events     []storyLine         `json:"events"`
}

type storyLine struct {
	Position events.Position `json:"position"`
	At       int64           `json:"at"`
	OffsetMs float64         `json:"offset_ms"`
	Kind     events.Kind     `json:"kind"`
	Task     events.TaskID   `json:"task,omitempty"`
	Outcome  string          `json:"outcome"`
	Text     string          `json:"text"`
}

func show(ctx context.Context, cmd *cobra.Command, out *cli.Output, t *target.Target, id events.CheckpointID) error {
	lines, err := storyOf(ctx, t, id)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return fmt.Errorf("the log of job %s knows no checkpoint %s; see coordinator list", t.Job, id)
	}
	v := storyJSON{Checkpoint: id, Verdict: view.Explain(lines)}
	for _, l := range lines {
		v.Events = append(v.Events, storyLine{
			Position: l.Position, At: l.At, OffsetMs: float64(l.Offset) / float64(time.Millisecond), Kind: l.Kind,
			Task: l.Task, Outcome: l.Outcome.Kind.String(), Text: l.Text,
		})
	}
	return out.Print(cmd, v, func(p *cli.Printer) { printStory(p, lines, "") })
}

func storyOf(ctx context.Context, t *target.Target, id events.CheckpointID) ([]view.Line, error) {
	var readErr error
	lines := view.Story(envelopes(ctx, t.Log, &readErr), id)
	if errors.Is(readErr, eventlog.ErrNoLog) {
		return nil, noLog(t)
	}
	return lines, readErr
}

// envelopes yields the events of the whole log; poison is left out. An error ends them and is left in err.
func envelopes(ctx context.Context, log eventlog.Reader, err *error) iter.Seq2[events.Position, events.Envelope] {
	return func(yield func(events.Position, events.Envelope) bool) {
		for batch, e := range log.Read(ctx, events.Start, events.End) {
			if e != nil {
				*err = e
				return
			}
			for _, entry := range batch.Entries {
				if entry.Poison == nil && !yield(entry.Position, entry.Envelope) {
					return
				}
			}
		}
	}
}

func printStory(p *cli.Printer, lines []view.Line, indent string) {
	for _, l := range lines {
		text := l.Text
		switch {
		case !l.Outcome.Changed():
			text = p.Dim(text)
		case l.Reason != "":
			text = p.Red(text)
		case l.Kind == events.KindCheckpointCompleted && l.Phase == projection.PhaseCompleted:
			text = p.Green(text)
		}
		p.Line("%s%s  %-12s %-21s %-10s %s", indent, p.Dim(fmt.Sprintf("%-18s", l.Position)), view.Offset(l.Offset), l.Kind, l.Task, text)
	}
	p.Line("")
	p.Line("%s%s", indent, p.Bold(view.Explain(lines)))
}
