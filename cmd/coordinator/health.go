package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
)

func healthCommand() *cobra.Command {
	var flags target.Flags
	var out cli.Output
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether a coordinator leads the job (exit code 0) or not (1)",
		Long: `Say whether a coordinator leads the job: Redis answers, somebody holds the lease, and the control state was written in its
epoch.`,
		Example: "  coordinator health\n  coordinator health --job orders -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			return health(ctx, cmd, &out, t)
		},
	}
	flags.Add(cmd)
	out.Flag(cmd)
	cmd.Flags().DurationVar(&timeout, "health-timeout", 3*time.Second, "how long to wait for an answer")
	return cmd
}

func health(ctx context.Context, cmd *cobra.Command, out *cli.Output, t *target.Target) error {
	l, err := leaseOf(ctx, t)
	if err == nil {
		err = l.leads(t)
	}
	if err != nil {
		return err
	}
	control, ok, err := t.Log.LatestControl(ctx)
	if err != nil {
		return err
	}
	if !ok || control.Epoch.String() != l.epoch {
		return fmt.Errorf("%s holds the lease in epoch %s and has not announced anything yet", l.instance, l.epoch)
	}
	v := struct {
		Leader  string       `json:"leader"`
		Epoch   events.Epoch `json:"epoch"`
		LeaseMs int64        `json:"lease_ms"`
	}{l.instance, control.Epoch, l.left.Milliseconds()}
	return out.Print(cmd, v, func(p *cli.Printer) {
		p.Line("%s leads job %s in epoch %s, lease for another %s", v.Leader, t.Job, v.Epoch, l.left)
	})
}
