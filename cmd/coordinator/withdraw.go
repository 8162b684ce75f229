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

// withdraw is the flags of the verb.
type withdraw struct {
	target    target.Flags
	out       cli.Output
	reason    string
	force     bool
	toNothing bool
	wait      time.Duration
}

func withdrawCommand() *cobra.Command {
	w := &withdraw{}
	cmd := &cobra.Command{
		Use:   "withdraw id",
		Short: "Let an older checkpoint be the restore point, because this one cannot be restored",
		Long: `Ask the coordinator to withdraw a completed checkpoint whose state is lost or damaged, and follow the request to its answer.
The coordinator reads the state of all tasks itself. If nothing is wrong with it, it refuses. Otherwise the newest older one
that can be read becomes the restore point; those in between are withdrawn too.

What it means: a task that starts from then on goes back further. It reads again, and puts out again, what it had put out
since the older checkpoint. A file sink holds every row once all the same, unless the finished file is there already.
Everything else that has left the job since then leaves it twice. Tasks that run go on and notice nothing.

Exit code 1 means that it was refused, or that no answer came in time; the request stays in the log then.`,
		Example: `  coordinator withdraw 41 --reason "node 3 lost its disk"
  coordinator withdraw 41 --to-nothing   # no other one can be read: start from the beginning of the input`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := events.ParseCheckpointID(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			if err := checkWait(w.wait); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), w.wait, errNoVerdict)
			defer cancel()
			t, err := w.target.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			return w.run(ctx, cmd, t, id)
		},
	}
	w.target.Add(cmd)
	w.out.Flag(cmd)
	f := cmd.Flags()
	f.StringVar(&w.reason, "reason", "", "why, for the reader of the log")
	f.BoolVar(&w.force, "force", false, "also when nothing is wrong with its state")
	f.BoolVar(&w.toNothing, "to-nothing", false, "also when no other one can be read: tasks then start from nothing")
	f.DurationVar(&w.wait, "wait-timeout", requestTimeout, "how long to wait for the answer")
	return cmd
}

// withdrawal is what the verb prints.
type withdrawal struct {
	Request    events.RequestID      `json:"request"`
	Checkpoint events.CheckpointID   `json:"checkpoint"`
	Withdrawn  []events.CheckpointID `json:"withdrawn"`
	Restore    *events.CheckpointID  `json:"restore,omitempty"`
	Refused    string                `json:"refused,omitempty"`
	Text       string                `json:"text,omitempty"`
}

func (w *withdraw) run(ctx context.Context, cmd *cobra.Command, t *target.Target, id events.CheckpointID) error {
	state, err := foldNow(ctx, t)
	if err != nil {
		return err
	}
	v := withdrawal{Request: events.RequestID("cli-" + string(eventlog.NewInstanceID())), Checkpoint: id, Withdrawn: []events.CheckpointID{}}
	err = publish(ctx, t, &events.WithdrawalRequested{
		Request: v.Request, Checkpoint: id, Forced: w.force, ToNothing: w.toNothing, Cause: w.reason, By: whoAmI(),
	})
	if err != nil {
		return err
	}
	sayIfNobodyLeads(ctx, cmd.ErrOrStderr(), t)
	err = follow(ctx, t, state, func(e eventlog.Entry, o projection.Outcome) bool { return v.hear(state, e, o) })
	if err != nil {
		return waiting(cmd, &w.out, v.Request, err)
	}
	if err := w.out.Print(cmd, v, v.show); err != nil {
		return err
	}
	if v.Refused != "" {
		return cli.Silent(cli.ExitFailed, errNoVerdict)
	}
	return nil
}

// hear reports whether the answer has come.
func (v *withdrawal) hear(state *projection.State, e eventlog.Entry, o projection.Outcome) bool {
	if done, ok := e.Envelope.Event.(*events.CheckpointsWithdrawn); ok && o.Changed() && done.Request == v.Request {
		v.Withdrawn, v.Text = done.Checkpoints, done.Why
		if latest := state.LatestCompleted(); !latest.IsZero() {
			v.Restore = &latest
		}
		return true
	}
	r, ok := state.Request(v.Request)
	if !ok || r.Status != projection.RequestRefused {
		return false
	}
	v.Refused, v.Text = string(r.Reason), r.Remedy
	return true
}

// show says what was done and what it means.
func (v *withdrawal) show(p *cli.Printer) {
	if v.Refused != "" {
		p.Line("%s: %s: %s", p.Red("refused"), v.Refused, v.Text)
		return
	}
	p.Line("checkpoint %s is withdrawn: %s", v.Checkpoint, v.Text)
	for _, id := range v.Withdrawn {
		if id != v.Checkpoint {
			p.Line("checkpoint %s is withdrawn too: it cannot be read either", id)
		}
	}
	if v.Restore == nil {
		p.Line("%s", p.Bold("no checkpoint is left: tasks that start now start from nothing, and put out everything again"))
		return
	}
	p.Line("tasks that start now restore checkpoint %s", v.Restore)
	if *v.Restore < v.Checkpoint {
		p.Line("what they have put out since checkpoint %s they put out again; file sinks hold each row once all the same", v.Restore)
	}
}
