package workercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/worker"
)

// options are the flags of "run".
type options struct {
	target  target.Flags
	logging cli.Logging

	task, input, output, mode string
	rate                      float64
	outOfOrderness, every     time.Duration
	config                    worker.Config
}

// Run returns the verb.
func Run() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Work on one task of a job until its input ends",
		Long: `Work on one task of the flights job until its input ends.

The input is a file of JSON lines, plain or gzip:
  {"ts":978312240000,"origin":"LAS","destination":"OAK","delay":-5,"distance":407}
Every worker reads all of it and keeps the origins whose hash is its share. The output is a file of JSON lines, one for
each origin and day: number of flights, sum and maximum of delay. Each row is in it exactly once, whatever crashes.

Exit code 0 means that the input has ended; 2 that the command or its share is wrong; 3 that another process has taken up the
task: do not restart this one at once.

A job of your own is a program of about ten lines around package worker; see its example.`,
		Example: `  worker run --task 1/3 --output out/
  worker run --task 2/3 --input flights.jsonl.gz --output out/task-2.jsonl --redis redis://10.0.0.5:6379`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd)
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	o.target.Add(cmd)
	o.logging.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.task, "task", "1/1", "which share of the input: i/n, from 1/n to n/n")
	f.StringVar(&o.input, "input", "", "file of JSON lines, plain or gzip; empty means the flight records that come with the program")
	f.StringVar(&o.output, "output", ".", "file for the rows, or a folder, for <task>.jsonl in it")
	f.StringVar(&o.mode, "restore", "adopt", "what becomes of a restored cut: adopt (go on from it) or fresh (only check it, read everything again)")
	f.Float64Var(&o.rate, "rate", 0, "lines read per second; 0 means no limit")
	f.DurationVar(&o.outOfOrderness, "out-of-orderness", flights.OutOfOrderness, "how far a record may lie behind the newest one, in event time")
	f.DurationVar(&o.every, "progress-interval", 10*time.Second, "time between two log lines that say how far the task has come; 0 means none")
	f.DurationVar(&o.config.PresenceTTL, "presence-ttl", worker.DefaultPresenceTTL, "how long the task counts as alive after its last sign of life; not above the coordinator's")
	f.DurationVar(&o.config.CutTimeout, "cut-timeout", worker.DefaultCutTimeout, "longest wait for the record in work; beyond it a checkpoint is declined")
	f.DurationVar(&o.config.UploadTimeout, "upload-timeout", worker.DefaultUploadTimeout, "longest time to store one cut; beyond it a checkpoint is declined")
	f.DurationVar(&o.config.DrainTimeout, "drain-timeout", worker.DefaultDrainTimeout, "how long a shutdown waits for a cut that is being stored")
	f.IntVar(&o.config.Uploads, "checkpoint-threads", worker.DefaultUploads, "chunks stored at once")
	f.Int64Var(&o.config.MaxState, "max-state", worker.DefaultMaxState, "largest state in bytes before compression; a larger one is declined")
}

func (o *options) run(cmd *cobra.Command) error {
	logger, err := o.logging.Logger(cmd)
	if err != nil {
		return err
	}
	share, err := tasks.ParseShare(o.task)
	if err != nil {
		return cli.Usagef("--task: %w", err)
	}
	if o.config.Mode, err = parseMode(o.mode); err != nil {
		return err
	}
	input, removeInput, err := o.openInput()
	if err != nil {
		return err
	}
	defer removeInput()
	if err := checkOutput(o.output, share); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(outputPath(o.output, share.Task().String())), 0o755); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	ctx := cmd.Context()
	t, err := o.target.Open(ctx, logger)
	if err != nil {
		return err
	}
	return errors.Join(o.work(ctx, t, share, input), t.Close())
}

// work runs the task and says now and then how far it has come.
func (o *options) work(ctx context.Context, t *target.Target, share tasks.Share, input string) error {
	said := &progress{every: o.every, log: t.Logger.With().Stringer("job", t.Job).Stringer("task", share.Task()).Logger()}
	cfg := o.config
	cfg.Task, cfg.Index, cfg.Count = share.Task(), share.Number-1, share.Count
	cfg.Log, cfg.Store, cfg.Logger = t.Log, restoring{t.Store, share.Task(), said}, t.Logger
	cfg.Build = func(s worker.Start) (worker.Pipeline, error) {
		pipeline, err := flights.Job(flights.Config{
			Input: input, Output: outputPath(o.output, s.Task.String()), Index: s.Index, Count: s.Count,
			Rate: o.rate, OutOfOrderness: o.outOfOrderness,
		})
		if err != nil {
			return nil, err
		}
		var p worker.Pipeline = pipeline
		said.pipeline.Store(&p)
		return p, nil
	}
	w, err := worker.New(cfg)
	if err != nil {
		return cli.Usage(err)
	}
	var saying sync.WaitGroup
	defer saying.Wait()
	sayCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	saying.Go(func() { said.run(sayCtx) })
	return exitOf(w.Run(ctx))
}

// exitOf gives an error of the worker its exit code: two of them a restart does not mend.
func exitOf(err error) error {
	switch {
	case errors.Is(err, worker.ErrSuperseded):
		return cli.Coded(cli.ExitSuperseded, fmt.Errorf("%w; start this one again only when that one has ended: the newer one always wins", err))
	case errors.Is(err, worker.ErrShare):
		return cli.Usage(err)
	default:
		return err
	}
}

func parseMode(s string) (engine.RestoreMode, error) {
	switch s {
	case "adopt":
		return engine.Adopt, nil
	case "fresh":
		return engine.Fresh, nil
	}
	return 0, cli.Usagef("--restore %q is not adopt or fresh", s)
}

// openInput names the input file; without one it writes the flight records to a temporary file.
func (o *options) openInput() (path string, remove func(), err error) {
	if o.input != "" {
		if _, err := os.Stat(o.input); err != nil {
			return "", nil, fmt.Errorf("--input: %w", err)
		}
		return o.input, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "tidemark-input-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the flight records: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // a temporary folder that stays is no failure of the run
	path = filepath.Join(dir, "flights.jsonl.gz")
	if err := flights.WriteInput(path); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// checkOutput refuses a file that looks like one for all shares: the first of them to end would take the others' parts for
// its own leftovers.
func checkOutput(output string, share tasks.Share) error {
	path := outputPath(output, share.Task().String())
	if share.Count > 1 && !strings.Contains(filepath.Base(path), strconv.Itoa(share.Number)) {
		return cli.Usagef("--output %q: with %d shares it is a folder, or a file of this share alone with its number in the name, such as %s.jsonl",
			output, share.Count, share.Task())
	}
	return nil
}

// outputPath is the file for a task's rows.
func outputPath(output, task string) string {
	if info, err := os.Stat(output); (err == nil && info.IsDir()) || strings.HasSuffix(output, "/") {
		return filepath.Join(output, task+".jsonl")
	}
	return output
}
