package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/projection/view"
)

func listCommand() *cobra.Command {
	var flags target.Flags
	var out cli.Output
	var limit int
	var status string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the checkpoints, newest first",
		Long: `List the checkpoints, newest first: pending, completed (kept), retired (completed and no longer kept), withdrawn (completed,
and could not be restored later) and failed with the reason. It is the fold of the log: the last 1000 that ended, and all that are kept or pending.`,
		Example: "  coordinator list\n  coordinator list --status failed -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return cli.Usagef("--limit %d is negative", limit)
			}
			if status != "" && !slices.Contains(listed, status) {
				return cli.Usagef("--status %q is none of %s", status, strings.Join(listed, ", "))
			}
			ctx := cmd.Context()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			state, err := foldNow(ctx, t)
			if err != nil {
				return err
			}
			rows := choose(view.Table(state), status, limit)
			return out.Print(cmd, rows, func(p *cli.Printer) { printRows(p, rows) })
		},
	}
	flags.Add(cmd)
	out.Flag(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "at most that many; 0 means all")
	cmd.Flags().StringVar(&status, "status", "", "only those: "+strings.Join(listed, ", "))
	return cmd
}

// listed are the words of --status.
var listed = []string{
	projection.PhasePending.String(), projection.PhaseFinalizing.String(), projection.PhaseCompleted.String(),
	projection.PhaseRetired.String(), view.Withdrawn, projection.PhaseFailed.String(),
}

// row is one checkpoint for a program.
type row struct {
	ID          events.CheckpointID   `json:"id"`
	Type        events.CheckpointType `json:"type"`
	Status      string                `json:"status"`
	Reason      events.FailureReason  `json:"reason,omitempty"`
	Text        string                `json:"text,omitempty"`
	Epoch       events.Epoch          `json:"epoch"`
	Cause       string                `json:"cause,omitempty"`
	TriggeredAt int64                 `json:"triggered_at"`
	DurationMs  float64               `json:"duration_ms"`
	Acked       int                   `json:"acked"`
	Required    int                   `json:"required"`
	Forced      bool                  `json:"forced,omitempty"`
	Bytes       int64                 `json:"bytes"`
	Missing     []events.TaskID       `json:"missing,omitempty"`
}

func choose(all []view.Row, status string, limit int) []row {
	rows := []row{}
	for _, r := range all {
		if status != "" && r.Status != status {
			continue
		}
		if limit > 0 && len(rows) == limit {
			break
		}
		rows = append(rows, row{
			ID: r.ID, Type: r.Type, Status: r.Status, Reason: r.Reason, Text: r.Text, Epoch: r.Epoch, Cause: r.Cause,
			TriggeredAt: r.TriggeredAt, DurationMs: float64(r.Duration) / float64(time.Millisecond),
			Acked: r.Acked, Required: r.Required, Forced: r.Forced, Bytes: r.Bytes, Missing: r.Missing,
		})
	}
	return rows
}

func printRows(p *cli.Printer, rows []row) {
	table := [][]string{{"ID", "STATUS", "TRIGGERED (UTC)", "TOOK", "ACKS", "SIZE", "WHY"}}
	for _, r := range rows {
		took := ""
		if r.Status != "pending" && r.Status != "finalizing" {
			took = fmt.Sprintf("%.0f ms", r.DurationMs)
		}
		why := string(r.Reason)
		switch {
		case why == "":
			why = r.Text
		case r.Text != "":
			why += ": " + r.Text
		}
		if why == "" && r.Type == events.TypeSavepoint {
			why = "savepoint"
		}
		table = append(table, []string{
			r.ID.String(), r.Status, time.UnixMilli(r.TriggeredAt).UTC().Format(time.DateTime), took,
			fmt.Sprintf("%d/%d", r.Acked, r.Required), view.Bytes(r.Bytes), why,
		})
	}
	p.Table(table)
	if len(rows) == 0 {
		p.Line("no checkpoints")
	}
}
