package main

import (
	"context"
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
	err = follow(ctx, t, state, func(eventlog.Entry, projection.Outcome) bool {
		r, ok := state.Request(v.Request)
		if !ok || !r.Status.Answered() {
			return false
		}
		v.Refused, v.Text = string(r.Reason), r.Remedy
		return true
	})
	if err != nil {
		return waiting(cmd, out, v.Request, err)
	}
	for _, c := range state.History() {
		if c.Reason == events.FailedAborted && c.Abort.Request == v.Request {
			v.Aborted = append(v.Aborted, c.ID)
		}
	}
	err = out.Print(cmd, v, func(p *cli.Printer) {
		for _, id := range v.Aborted {
			p.Line("checkpoint %s aborted", id)
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
