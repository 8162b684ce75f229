package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/internal/cli"
	"github.com/tidemark-stream/tidemark/cmd/internal/target"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// status is how a job stands.
type status struct {
	Job             events.JobID          `json:"job"`
	Epoch           events.Epoch          `json:"epoch"`
	Leader          events.InstanceID     `json:"leader,omitempty"`
	Position        events.Position       `json:"position"`
	LatestCompleted *events.CheckpointID  `json:"latest_completed,omitempty"`
	Live            []events.CheckpointID `json:"live"`
	NotReady        string                `json:"not_ready,omitempty"`
	Tasks           []taskStatus          `json:"tasks"`
}

type taskStatus struct {
	Task     events.TaskID     `json:"task"`
	Phase    string            `json:"phase"`
	Attempt  events.Attempt    `json:"attempt"`
	Instance events.InstanceID `json:"instance"`
	Host     string            `json:"host,omitempty"`
	PID      int64             `json:"pid,omitempty"`
	Alive    bool              `json:"alive"`
	Progress string            `json:"progress,omitempty"`
}

func statusCommand() *cobra.Command {
	var flags target.Flags
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say who leads, how the tasks stand and what is pending",
		Example: `  coordinator status
  coordinator status --job orders -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			t, err := flags.Open(ctx, zerolog.Nop())
			if err != nil {
				return err
			}
			defer func() { _ = t.Close() }() // the process ends anyway
			s, err := statusOf(ctx, t)
			if err != nil {
				return err
			}
			return out.Print(cmd, s, s.print)
		},
	}
	flags.Add(cmd)
	out.Flag(cmd)
	return cmd
}

func statusOf(ctx context.Context, t *target.Target) (status, error) {
	state, err := foldNow(ctx, t)
	if err != nil {
		return status{}, err
	}
	s := status{
		Job: t.Job, Epoch: state.Epoch(), Leader: state.Instance(), Position: state.Position(),
		Live: []events.CheckpointID{}, NotReady: state.NotReady(), Tasks: []taskStatus{},
	}
	if id := state.LatestCompleted(); !id.IsZero() {
		s.LatestCompleted = &id
	}
	for _, c := range state.Live() {
		s.Live = append(s.Live, c.ID)
	}
	var names []events.TaskID
	for _, task := range state.Tasks() {
		names = append(names, task.ID)
	}
	seen, err := t.Log.Presences(ctx, names)
	if err != nil {
		return status{}, err
	}
	for _, task := range state.Tasks() {
		p := seen[task.ID]
		s.Tasks = append(s.Tasks, taskStatus{
			Task: task.ID, Phase: task.Phase.String(), Attempt: task.Attempt, Instance: task.Instance,
			Host: task.Host, PID: task.PID, Alive: p.Instance == task.Instance && p.Instance != "", Progress: string(p.Progress),
		})
	}
	return s, nil
}

func (s status) print(p *cli.Printer) {
	p.Line("job %s, epoch %s, led by %s", p.Bold(s.Job.String()), s.Epoch, s.Leader)
	latest := "none"
	if s.LatestCompleted != nil {
		latest = s.LatestCompleted.String()
	}
	p.Line("latest completed checkpoint: %s; pending: %v", latest, s.Live)
	if s.NotReady != "" {
		p.Line("no checkpoint can be triggered now: %s", s.NotReady)
	}
	rows := [][]string{{"TASK", "PHASE", "ATTEMPT", "ALIVE", "WHERE", "PROGRESS"}}
	for _, t := range s.Tasks {
		alive := "yes"
		if !t.Alive {
			alive = "no"
			if t.Phase == projection.TaskIsFinished.String() {
				alive = "-"
			}
		}
		rows = append(rows, []string{
			t.Task.String(), t.Phase, t.Attempt.String(), alive, fmt.Sprintf("%s:%d", t.Host, t.PID), t.Progress,
		})
	}
	p.Table(rows)
}

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
	lease, err := t.Client.HGetAll(ctx, eventlog.KeysOf(t.Job).Leader()).Result()
	if err != nil {
		return fmt.Errorf("read the lease: %w", err)
	}
	if len(lease) == 0 {
		return fmt.Errorf("nobody has ever led job %s", t.Job)
	}
	now, err := t.Client.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("read the time of redis: %w", err)
	}
	left, err := leaseLeft(lease["expires"], now)
	if err != nil {
		return err
	}
	if left <= 0 {
		return fmt.Errorf("the lease of job %s lapsed %s ago; it was %s's in epoch %s", t.Job, -left, lease["instance"], lease["epoch"])
	}
	control, ok, err := t.Log.LatestControl(ctx)
	if err != nil {
		return err
	}
	if !ok || control.Epoch.String() != lease["epoch"] {
		return fmt.Errorf("%s holds the lease in epoch %s and has not announced anything yet", lease["instance"], lease["epoch"])
	}
	v := struct {
		Leader  string `json:"leader"`
		Epoch   string `json:"epoch"`
		LeaseMs int64  `json:"lease_ms"`
	}{lease["instance"], lease["epoch"], left.Milliseconds()}
	return out.Print(cmd, v, func(p *cli.Printer) {
		p.Line("%s leads job %s in epoch %s, lease for another %s", v.Leader, t.Job, v.Epoch, left)
	})
}

func leaseLeft(expires string, now time.Time) (time.Duration, error) {
	var ms int64
	if _, err := fmt.Sscan(expires, &ms); err != nil {
		return 0, fmt.Errorf("read the lease: expiry %q is not a number of milliseconds", expires)
	}
	return time.UnixMilli(ms).Sub(now).Truncate(time.Millisecond), nil
}
