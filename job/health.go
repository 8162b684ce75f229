package job

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/projection"
)

// healthCommand is the verb "health": whether the task gives signs of life, for a container's health check.
func healthCommand(j Job) *cobra.Command {
	var flags target.Flags
	var out cli.Output
	var task string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether the task is alive (exit code 0) or not (1)",
		Long: `Say whether the task gives signs of life in Redis, from whichever machine; a task that has finished counts as alive. For a
container's health check.`,
		Example: fmt.Sprintf("  %[1]s health --task 1/3\n  %[1]s health --task 1/3 -o json", j.program()),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			share, err := tasks.ParseShare(task)
			if err != nil {
				return cli.Usagef("--task: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
			defer cancel()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			return health(ctx, cmd, &out, t, share.Task())
		},
	}
	flags.AddFor(cmd, j.Name)
	out.Flag(cmd)
	cmd.Flags().StringVar(&task, "task", "1/1", "which share: i/n, as given to run")
	return cmd
}

func health(ctx context.Context, cmd *cobra.Command, out *cli.Output, t *target.Target, task events.TaskID) error {
	seen, err := t.Log.Presences(ctx, []events.TaskID{task})
	if err != nil {
		return err
	}
	a, ok, err := t.Log.Assignment(ctx, task)
	if err != nil {
		return err
	}
	p, alive := seen[task]
	if finished := ok && a.Phase == projection.TaskIsFinished.String(); finished || !alive {
		if !finished {
			return fmt.Errorf("task %s of job %s gives no sign of life: does its worker run, and can it reach redis?", task, t.Job)
		}
		p.Instance, p.Attempt, p.Phase = a.Instance, a.Attempt, a.Phase
	}
	v := struct {
		Task     events.TaskID     `json:"task"`
		Instance events.InstanceID `json:"instance"`
		Attempt  events.Attempt    `json:"attempt"`
		Phase    string            `json:"phase"`
	}{task, p.Instance, p.Attempt, p.Phase}
	return out.Print(cmd, v, func(pr *cli.Printer) {
		pr.Line("task %s is %s (attempt %s, %s)", v.Task, v.Phase, v.Attempt, v.Instance)
	})
}
