package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/settings"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/job"
)

// The demo's numbers: three workers share 20 000 records, which take about twelve seconds.
const (
	demoWorkers  = 3
	demoSeconds  = 12
	demoRate     = flights.Lines / demoSeconds // lines a second and worker
	demoInterval = time.Second
	demoLease    = 2 * time.Second // short, so that the story is
	demoLife     = 3 * time.Second // of a sign of life: a busy machine must be able to give three of them in it
	demoLimit    = 90 * time.Second
)

// demo is one run.
type demo struct {
	redisURL string
	keep     bool

	screen *screen
	dir    string // for Redis, input, output and the processes' own logs
	server *demoServer
	job    *target.Target
	coord  *child
	work   [demoWorkers]*child
	args   []string    // --job and the like, for every child
	died   func(error) // ends the demo: a process of it has ended before its time
}

func demoCommand() *cobra.Command {
	d := &demo{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole job on real data, with crashes, and check the answer",
		Long: `Run a whole job on 20 000 real flight records: a Redis, a coordinator, three workers and a checkpoint a second. On the way
a worker is killed, the coordinator is killed, and a worker is paused for longer than it may be silent, replaced, and
woken. At the end every row of the output is compared with the known right answer. Exit code 1 if one differs.`,
		Example: `  coordinator demo
  coordinator demo --redis redis://127.0.0.1:6379   # on a Redis of yours; under a job name of its own, deleted at the end
  coordinator demo --keep                           # go on running afterwards, for a look`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd) },
	}
	cmd.Flags().StringVar(&d.redisURL, "redis", "", "use this Redis instead of starting one (only this flag says so, not the environment)")
	settings.FlagOnly(cmd.Flags(), "redis")
	cmd.Flags().BoolVar(&d.keep, "keep", false, "leave Redis and the coordinator running until interrupted")
	return cmd
}

// demoWorkerCommand is the program worker in this binary: the demo has but one.
func demoWorkerCommand() *cobra.Command {
	cmd := job.Command(workercmd.Flights())
	cmd.Use, cmd.Hidden = "demo-worker", true
	return cmd
}

func (d *demo) run(cmd *cobra.Command) (err error) {
	base, died := context.WithCancelCause(cmd.Context())
	defer died(nil)
	ctx, cancel := context.WithTimeoutCause(base, demoLimit, errTooLong)
	defer cancel()
	d.died = died
	d.screen = newScreen(cmd.OutOrStdout())
	if d.dir, err = os.MkdirTemp("", "tidemark-demo-"); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, d.cleanUp(context.WithoutCancel(cmd.Context()), err)) }()
	if err := d.setUp(ctx); err != nil {
		return d.explain(err)
	}
	if err := d.play(ctx); err != nil {
		return d.explain(err)
	}
	if err := d.result(ctx); err != nil {
		return err
	}
	if d.keep {
		d.screen.line("")
		d.screen.line("Redis and the coordinator go on running; the files are in %s. Ctrl-C ends it and removes them.", d.dir)
		<-base.Done()
		if cause := context.Cause(base); !cli.Interrupted(cause) {
			return d.explain(cause)
		}
		d.screen.line("")
		d.screen.line("Ended; the folder %s is removed.", d.dir)
	}
	return nil
}

var errTooLong = fmt.Errorf("the demo took longer than %s", demoLimit)

// explain adds to an error what the processes said last.
func (d *demo) explain(err error) error {
	if cli.Interrupted(err) {
		return err
	}
	var names []string
	if died := (diedError{}); errors.As(err, &died) {
		names = append(names, died.name)
	} else {
		names = append(names, "coordinator", "worker-1", "worker-2", "worker-3")
	}
	for _, name := range names {
		err = fmt.Errorf("%w\n%s said last:\n%s", err, name, lastWords(d.dir, name))
	}
	if d.keep {
		return fmt.Errorf("%w\nthe processes' own logs are in %s", err, d.dir)
	}
	return fmt.Errorf("%w\n(coordinator demo --keep keeps all that they said)", err)
}

// setUp starts Redis and everything on it.
func (d *demo) setUp(ctx context.Context) error {
	d.screen.title("Tidemark: one job, three workers, a checkpoint a second, and some crashes")
	jobName := target.DefaultJob
	var err error
	if d.redisURL == "" {
		if d.server, err = startRedis(ctx, d.dir, d.died); err != nil {
			return err
		}
		d.redisURL = d.server.url
		d.screen.fact("redis", d.server.what)
	} else {
		jobName = "demo-" + string(eventlog.NewInstanceID())[:8]
		d.screen.fact("redis", "yours; all keys are under {"+jobName+"}")
	}
	if err := os.Mkdir(filepath.Join(d.dir, "out"), 0o755); err != nil {
		return fmt.Errorf("make a folder for the output: %w", err)
	}
	if err := flights.WriteInput(d.input()); err != nil {
		return err
	}
	d.args = []string{"--job", jobName}
	if d.server != nil && d.server.embedded {
		d.args = append(d.args, "--embedded-redis")
	}
	if d.job, err = d.open(ctx); err != nil {
		return err
	}
	d.screen.fact("job", jobName+": number of flights, sum and maximum of delay for each origin and day")
	d.screen.fact("input", fmt.Sprintf("%s records in true arrival order, up to 491 minutes out of event-time order", thousands(flights.Lines)))
	d.screen.line("")
	return nil
}

// open makes the demo's own connection.
func (d *demo) open(ctx context.Context) (*target.Target, error) {
	var flags target.Flags
	cmd := &cobra.Command{}
	flags.Add(cmd)
	if err := cmd.ParseFlags(append([]string{"--redis", d.redisURL}, d.args...)); err != nil {
		return nil, fmt.Errorf("open the demo's job: %w", err)
	}
	return flags.Open(ctx, zerolog.Nop())
}

func (d *demo) input() string { return filepath.Join(d.dir, "flights.jsonl.gz") }

func (d *demo) output(i int) string {
	return filepath.Join(d.dir, "out", fmt.Sprintf("task-%d.jsonl", i+1))
}

// cleanUp ends every process that the demo started and removes its keys and files, unless they are to stay.
func (d *demo) cleanUp(ctx context.Context, cause error) error {
	var errs error
	for _, c := range d.work {
		c.kill()
	}
	d.coord.terminate()
	if d.job != nil {
		if d.server == nil && !d.keep {
			errs = d.forget(ctx)
		}
		errs = errors.Join(errs, d.job.Close())
	}
	d.server.stop()
	if d.keep && cause != nil && !cli.Interrupted(cause) {
		return errs
	}
	return errors.Join(errs, os.RemoveAll(d.dir))
}

// forget deletes the keys of the demo from a Redis that is not its own.
func (d *demo) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	keys, err := keysOf(ctx, d.job)
	if err != nil {
		return err
	}
	return unlink(ctx, d.job, keys)
}
