package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/settings"
	"github.com/tidemark-stream/tidemark/internal/target"
)

// forget is the flags of the verb.
type forget struct {
	target     target.Flags
	out        cli.Output
	yes, force bool
}

func forgetCommand() *cobra.Command {
	f := &forget{}
	cmd := &cobra.Command{
		Use:   "forget",
		Short: "Delete every key of a job: its log, its checkpoints and its state",
		Long: `Delete every key of a job: log, control, lease, tasks, fold, quarantine, records and state. Nothing brings it back; the next
start of the job is its first. Stop its coordinators and workers before: while one of them lives, the verb refuses.
Without --yes it says how many keys there are, deletes none, and ends with 2.`,
		Example: `  coordinator forget --job orders         # how many keys are there?
  coordinator forget --job orders --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.target.Add(cmd)
	f.out.Flag(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "really delete (only this flag says so, not environment or file)")
	cmd.Flags().BoolVar(&f.force, "force", false, "delete even while somebody leads or a task is alive (only this flag says so)")
	settings.FlagOnly(cmd.Flags(), "yes")
	settings.FlagOnly(cmd.Flags(), "force")
	return cmd
}

// errInUse is wrapped by the refusal to forget a job that somebody works on.
var errInUse = errors.New("the job is in use")

// forgotten is what the verb prints.
type forgotten struct {
	Job     events.JobID `json:"job"`
	Keys    int          `json:"keys"`
	Deleted bool         `json:"deleted"`
}

func (f *forget) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	t, err := f.target.Open(ctx, zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // the process ends anyway
	keys, err := keysOf(ctx, t)
	if err != nil {
		return err
	}
	v := forgotten{Job: t.Job, Keys: len(keys)}
	if !f.yes {
		if err := f.out.Print(cmd, v, func(p *cli.Printer) {
			p.Line("job %s has %d keys; nothing is deleted without --yes", v.Job, v.Keys)
		}); err != nil {
			return err
		}
		return cli.Silent(cli.ExitUsage, errors.New("forget without --yes"))
	}
	if !f.force {
		if err := checkIdle(ctx, t, keys); err != nil {
			return err
		}
	}
	if err := unlink(ctx, t, keys); err != nil {
		return err
	}
	v.Deleted = true
	return f.out.Print(cmd, v, func(p *cli.Printer) { p.Line("job %s is forgotten: %d keys deleted", v.Job, v.Keys) })
}

// checkIdle refuses a job that somebody leads, or a task of which is alive.
func checkIdle(ctx context.Context, t *target.Target, keys []string) error {
	l, err := leaseOf(ctx, t)
	if err != nil {
		return err
	}
	if l.leads(t) == nil {
		return fmt.Errorf("%w: %s leads %s; stop it first (or --force)", errInUse, l.instance, t.Job)
	}
	if tasks := aliveTasks(t, keys); len(tasks) > 0 {
		return fmt.Errorf("%w: of %s there was a sign of life a moment ago from %v; stop the workers first (or --force)", errInUse, t.Job, tasks)
	}
	return nil
}
