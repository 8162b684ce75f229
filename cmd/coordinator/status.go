package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
)

// status is how a job stands.
type status struct {
	Job             events.JobID          `json:"job"`
	Epoch           events.Epoch          `json:"epoch"`
	Leader          events.InstanceID     `json:"leader,omitempty"` // the last one, if nobody leads now
	Leading         bool                  `json:"leading"`
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
	Doing    string            `json:"doing,omitempty"`    // the phase in its sign of life
	Progress json.RawMessage   `json:"progress,omitempty"` // as the worker gave it
}

func statusCommand() *cobra.Command {
	var flags target.Flags
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say who leads, how the tasks stand and what is pending",
		Long: `Say who leads the job, which checkpoint completed last, what is pending, and for each task: its phase, its attempt, whether it
gives signs of life, where it runs and how far it has come. Exit code 0, also when something is wrong: see health for that.`,
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
	l, err := leaseOf(ctx, t)
	if err != nil {
		return status{}, err
	}
	s := status{
		Job: t.Job, Epoch: state.Epoch(), Leader: state.Instance(), Leading: l.leads(t) == nil, Position: state.Position(),
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
		st := taskStatus{
			Task: task.ID, Phase: task.Phase.String(), Attempt: task.Attempt, Instance: task.Instance,
			Host: task.Host, PID: task.PID, Alive: p.Instance == task.Instance && p.Instance != "", Progress: valid(p.Progress),
		}
		if st.Alive {
			st.Doing = p.Phase
		}
		s.Tasks = append(s.Tasks, st)
	}
	return s, nil
}

func (s status) print(p *cli.Printer) {
	if s.Leading {
		p.Line("job %s, epoch %s, led by %s", p.Bold(s.Job.String()), s.Epoch, s.Leader)
	} else {
		last := "nobody has led it yet"
		if s.Leader != "" {
			last = s.Leader.String() + " was the last"
		}
		p.Line("job %s, epoch %s, %s (%s); start a coordinator: coordinator serve --job %s --tasks …",
			p.Bold(s.Job.String()), s.Epoch, p.Red("led by nobody"), last, s.Job)
	}
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
		alive, phase := "yes", t.Phase
		switch {
		case t.Phase == projection.TaskIsFinished.String():
			alive = "-"
		case !t.Alive:
			alive = "no"
		case t.Doing != "":
			phase = t.Doing
		}
		rows = append(rows, []string{
			t.Task.String(), phase, t.Attempt.String(), alive, fmt.Sprintf("%s:%d", t.Host, t.PID), progressText(t.Progress),
		})
	}
	p.Table(rows)
}

// valid lets no text into the output that is no JSON: anybody can write a sign of life.
func valid(progress []byte) json.RawMessage {
	if !json.Valid(progress) {
		return nil
	}
	return progress
}

// progressText says for a person how far a task has come; what is not known is left out.
func progressText(progress json.RawMessage) string {
	var p struct {
		In        *int64 `json:"records_in"`
		Out       *int64 `json:"records_out"`
		Late      int64  `json:"late_dropped"`
		Watermark *int64 `json:"watermark"`
	}
	if err := json.Unmarshal(progress, &p); err != nil || p.In == nil || p.Out == nil {
		return ""
	}
	text := fmt.Sprintf("%d records in, %d out since its start", *p.In, *p.Out) // a restore begins to count anew
	if p.Late > 0 {
		text += fmt.Sprintf(", %d too late", p.Late)
	}
	switch {
	case p.Watermark == nil:
	case *p.Watermark == engine.MaxWatermark:
		text += ", at the end of input"
	default:
		text += ", at " + time.UnixMilli(*p.Watermark).UTC().Format(time.DateTime)
	}
	return text
}
