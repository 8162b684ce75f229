package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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

// trigger is the flags of the verb.
type trigger struct {
	target      target.Flags
	out         cli.Output
	savepoint   bool
	noWait      bool
	joining     string
	cause       string
	request     string
	waitTimeout time.Duration
}

// requestTimeout is how long a request verb waits for its verdict without --wait-timeout.
const requestTimeout = 2 * time.Minute

func triggerCommand() *cobra.Command {
	t := &trigger{}
	cmd := &cobra.Command{
		Use:   "trigger",
		Short: "Ask for a checkpoint and follow it to its verdict",
		Long: `Append a request for a checkpoint to the log, and follow it to its verdict. Exit code 0 means completed; 1 means that
it was refused or failed, or that no verdict came in time. The request stays in the log either way.`,
		Example: `  coordinator trigger
  coordinator trigger --savepoint --cause "before the upgrade"
  coordinator trigger --request nightly-2024-05-01 -o json   # repeated under one id, it is one request`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	t.target.Add(cmd)
	t.out.Flag(cmd)
	f := cmd.Flags()
	f.BoolVar(&t.savepoint, "savepoint", false, "take a savepoint: it is never retired")
	f.BoolVar(&t.noWait, "no-wait", false, "return when the checkpoint is pending")
	f.StringVar(&t.joining, "joining-event", "", "count only acks that name this event")
	f.StringVar(&t.cause, "cause", "manual", "why, for the reader of the log")
	f.StringVar(&t.request, "request", "", "id of the request, so that a repeated one is recognised; default random")
	f.DurationVar(&t.waitTimeout, "wait-timeout", requestTimeout, "how long to wait for the verdict")
	return cmd
}

func (t *trigger) run(cmd *cobra.Command) error {
	id := events.RequestID("cli-" + string(eventlog.NewInstanceID()))
	if t.request != "" {
		var err error
		if id, err = events.ParseRequestID(t.request); err != nil {
			return cli.Usagef("--request: %w", err)
		}
	}
	if err := checkWait(t.waitTimeout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), t.waitTimeout, errNoVerdict)
	defer cancel()
	job, err := t.target.Open(ctx, zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { _ = job.Close() }() // the process ends anyway
	state, err := foldNow(ctx, job)
	if err != nil {
		return err
	}
	typ := events.TypeCheckpoint
	if t.savepoint {
		typ = events.TypeSavepoint
	}
	err = publish(ctx, job, &events.CheckpointRequested{Request: id, Type: typ, JoiningEvent: t.joining, Cause: t.cause, By: whoAmI()})
	if err != nil {
		return err
	}
	sayIfNobodyLeads(ctx, cmd.ErrOrStderr(), job)
	v, err := t.await(ctx, cmd, job, state, id)
	if err != nil {
		return waiting(cmd, &t.out, id, err)
	}
	return v.print(cmd, &t.out)
}

// errNoVerdict is why waiting ended.
var errNoVerdict = errors.New("no verdict in time")

// waiting says which request it was whose verdict nobody waits for any more.
func waiting(cmd *cobra.Command, out *cli.Output, id events.RequestID, err error) error {
	if !errors.Is(err, errNoVerdict) {
		return err
	}
	if !out.JSON() {
		return fmt.Errorf("%w; request %s stays in the log: see coordinator list, and whether a coordinator leads (coordinator status)", err, id)
	}
	if err := out.Print(cmd, verdict{Request: id, Status: "waiting"}, nil); err != nil {
		return err
	}
	return cli.Silent(cli.ExitFailed, err)
}

// await follows the request to its verdict.
func (t *trigger) await(ctx context.Context, cmd *cobra.Command, job *target.Target, state *projection.State, id events.RequestID) (verdict, error) {
	said := false
	look := func() (verdict, bool) {
		r, ok := state.Request(id)
		if !ok {
			return verdict{}, false
		}
		if r.Status == projection.RequestRefused {
			return verdict{Request: id, Status: "refused", Reason: string(r.Reason), Text: r.Remedy}, true
		}
		if r.Checkpoint.IsZero() {
			return verdict{}, false
		}
		c, ok := state.Checkpoint(r.Checkpoint)
		if !ok {
			return verdict{}, false
		}
		if !said && !t.out.JSON() {
			said = true
			fmt.Fprintf(cmd.ErrOrStderr(), "checkpoint %s is pending, %d of %d acks\n", c.ID, c.Acked, c.Required)
		}
		return verdictOf(id, c), c.Phase.Terminal() || t.noWait
	}
	v, done := look()
	if done {
		return v, nil
	}
	err := follow(ctx, job, state, func(eventlog.Entry, projection.Outcome) bool {
		v, done = look()
		return done
	})
	return v, err
}

// verdict is what became of a request.
type verdict struct {
	Request    events.RequestID     `json:"request"`
	Checkpoint *events.CheckpointID `json:"checkpoint,omitempty"`
	Status     string               `json:"status"`
	Reason     string               `json:"reason,omitempty"`
	Text       string               `json:"text,omitempty"`
	DurationMs int64                `json:"duration_ms,omitempty"`
	Bytes      int64                `json:"bytes,omitempty"`
	Missing    []events.TaskID      `json:"missing,omitempty"`
}

func verdictOf(id events.RequestID, c projection.Checkpoint) verdict {
	v := verdict{
		Request: id, Checkpoint: &c.ID, Status: c.Phase.String(), Reason: string(c.Reason), Text: c.Text,
		Bytes: c.Bytes, Missing: c.Missing,
	}
	if c.Phase.Terminal() {
		v.DurationMs = max(c.EndedAt-c.TriggeredAt, 0)
	}
	return v
}

// print shows the verdict; one that is bad makes the exit code 1.
func (v verdict) print(cmd *cobra.Command, out *cli.Output) error {
	bad := v.Status == "failed" || v.Status == "refused"
	err := out.Print(cmd, v, func(p *cli.Printer) {
		switch {
		case v.Status == "refused":
			p.Line("%s: %s: %s", p.Red("refused"), v.Reason, v.Text)
		case v.Status == "failed":
			p.Line("checkpoint %s %s after %d ms: %s: %s", v.Checkpoint, p.Red("failed"), v.DurationMs, v.Reason, v.Text)
			if len(v.Missing) > 0 {
				p.Line("  not acked: %s", joinTasks(v.Missing))
			}
		case v.Status == "pending" || v.Status == "finalizing":
			p.Line("checkpoint %s is %s", v.Checkpoint, v.Status)
		default:
			p.Line("checkpoint %s %s after %d ms, %s", v.Checkpoint, p.Green("completed"), v.DurationMs, view.Bytes(v.Bytes))
		}
	})
	if err == nil && bad {
		return cli.Silent(cli.ExitFailed, fmt.Errorf("request %s %s", v.Request, v.Status))
	}
	return err
}

func publish(ctx context.Context, t *target.Target, e events.Event) error {
	env := events.Envelope{ID: eventlog.NewEventID(), Job: t.Job, At: time.Now().UnixMilli(), Event: e}
	if err := t.Log.Publish(ctx, env); err != nil {
		return fmt.Errorf("append the request: %w", err)
	}
	return nil
}

// whoAmI names the caller for the reader of the log.
func whoAmI() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("command line on %s", host)
}

func joinTasks(tasks []events.TaskID) string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}
