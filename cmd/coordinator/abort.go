package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
)

func abortCommand() *cobra.Command {
	var (
		flags target.Flags
		out   cli.Output
		cause string
		wait  time.Duration
	)
	cmd := &cobra.Command{
		Use:   "abort [id]",
		Short: "Abort pending checkpoints and follow them to their verdict",
		Long: `Append a request to abort every pending checkpoint up to id (default: all that are pending now) to the log, and follow it.
The request names the highest id that it means, so a repeated one never hits a later checkpoint. Exit code 1 means that
there was nothing to abort.`,
		Example: "  coordinator abort\n  coordinator abort 41 --cause 'node is drained'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			upTo := events.NoCheckpoint
			if len(args) == 1 {
				var err error
				if upTo, err = events.ParseCheckpointID(args[0]); err != nil {
					return cli.Usage(err)
				}
			}
			if err := checkWait(wait); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, errNoVerdict)
			defer cancel()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			return abort(ctx, cmd, &out, t, upTo, cause)
		},
	}
	flags.Add(cmd)
	out.Flag(cmd)
	cmd.Flags().StringVar(&cause, "cause", "manual", "why, for the reader of the log")
	cmd.Flags().DurationVar(&wait, "wait-timeout", requestTimeout, "how long to wait for the verdict")
	return cmd
}

// aborted is what the verb prints.
type aborted struct {
	Request events.RequestID      `json:"request"`
	UpTo    events.CheckpointID   `json:"up_to"`
	Aborted []events.CheckpointID `json:"aborted"`
	Refused string                `json:"refused,omitempty"`
	Text    string                `json:"text,omitempty"`
}

func abort(ctx context.Context, cmd *cobra.Command, out *cli.Output, t *target.Target, upTo events.CheckpointID, cause string) error {
	state, err := foldNow(ctx, t)
	if err != nil {
		return err
	}
	if upTo.IsZero() {
		upTo = max(state.NextID()-1, 0)
	}
	v := aborted{Request: events.RequestID("cli-" + string(eventlog.NewInstanceID())), UpTo: upTo, Aborted: []events.CheckpointID{}}
	if err := publish(ctx, t, &events.AbortRequested{Request: v.Request, UpTo: upTo, Cause: cause, By: whoAmI()}); err != nil {
		return err
	}
	sayIfNobodyLeads(ctx, cmd.ErrOrStderr(), t)
	var meant []events.CheckpointID
	err = follow(ctx, t, state, func(e eventlog.Entry, o projection.Outcome) bool {
		if r, ok := e.Envelope.Event.(*events.AbortRequested); ok && r.Request == v.Request && o.Changed() {
			meant = pendingUpTo(state, upTo)
		}
		return v.answered(state, meant)
	})
	if err != nil {
		return waiting(cmd, out, v.Request, err)
	}
	ended := v.note(state, meant)
	err = out.Print(cmd, v, func(p *cli.Printer) {
		for _, line := range ended {
			p.Line("%s", line)
		}
		if v.Refused != "" {
			p.Line("%s: %s: %s", p.Red("refused"), v.Refused, v.Text)
		}
	})
	if err == nil && v.Refused != "" {
		return cli.Silent(cli.ExitFailed, errNoVerdict)
	}
	return err
}

// pendingUpTo are the checkpoints that an abort means at the place where it stands in the log.
func pendingUpTo(state *projection.State, upTo events.CheckpointID) (ids []events.CheckpointID) {
	for _, c := range state.Live() {
		if c.Phase == projection.PhasePending && c.ID <= upTo {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// answered reports whether everything that the request means has ended, or it was refused. That is more than the fold asks
// for: to it a request is answered as soon as an earlier one has asked for the same.
func (v *aborted) answered(state *projection.State, meant []events.CheckpointID) bool {
	if r, ok := state.Request(v.Request); ok && r.Status == projection.RequestRefused {
		v.Refused, v.Text = string(r.Reason), r.Remedy
		return true
	}
	for _, id := range meant {
		if c, ok := state.Checkpoint(id); ok && !c.Phase.Terminal() {
			return false
		}
	}
	return len(meant) > 0
}

// note gives a line for each checkpoint that was meant: how it ended, and who had asked if somebody was quicker.
func (v *aborted) note(state *projection.State, meant []events.CheckpointID) (lines []string) {
	for _, id := range meant {
		c, _ := state.Checkpoint(id)
		switch {
		case c.Reason == events.FailedAborted && c.Abort.Request != v.Request:
			lines = append(lines, fmt.Sprintf("checkpoint %s aborted, as %s had asked before", id, cmp.Or(c.Abort.By, "somebody")))
		case c.Reason == events.FailedAborted:
			lines = append(lines, fmt.Sprintf("checkpoint %s aborted", id))
		default:
			lines = append(lines, fmt.Sprintf("checkpoint %s %s before it could be aborted: %s", id, c.Phase, c.Reason))
		}
		if c.Reason == events.FailedAborted {
			v.Aborted = append(v.Aborted, id)
		}
	}
	return lines
}
