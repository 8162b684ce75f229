package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/settings"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/internal/tasks"
	"github.com/tidemark-stream/tidemark/worker"
)

// verb is the flags of "run".
type verb struct {
	config  Config
	target  target.Flags
	logging cli.Logging

	task, restore string
}

const runText = `Work on one task of the job %s until its input ends.%s

A task that has finished in an earlier run goes home at once, also if its input has grown; --restore fresh starts it again.

Exit code 0 means that the input has ended, now or before, or an orderly shutdown; 1 that it failed, and a restart goes on from the
newest checkpoint; 2 that the command, its share or the graph is wrong; 3 that another process has taken up the task: do not restart
this one at once; 4 that the output of a completed checkpoint can never be committed: a person must look.`

const runExample = `  %[1]s run --task 1/3
  %[1]s run --task 2/3 --redis redis://10.0.0.5:6379`

func runCommand(j Job) *cobra.Command {
	v := &verb{config: Config{Job: j}}
	about, example := strings.Trim(j.About, "\n"), strings.Trim(j.Example, "\n")
	if about != "" {
		about = "\n\n" + about
	}
	if example == "" {
		example = fmt.Sprintf(runExample, j.program())
	}
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Work on one task of a job until its input ends",
		Long:    fmt.Sprintf(runText, j.Name, about),
		Example: example,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	v.flags(cmd)
	addOwnFlags(cmd, j)
	return cmd
}

// addOwnFlags adds the job's flags one by one: [pflag.FlagSet.AddFlagSet] would drop one whose name is taken without a word.
func addOwnFlags(cmd *cobra.Command, j Job) {
	if j.Flags == nil {
		return
	}
	own := pflag.NewFlagSet(j.Name, pflag.ContinueOnError)
	j.Flags(own)
	if own.Lookup(settings.ConfigFlag) != nil {
		panic(fmt.Sprintf("job %s: the program has a flag --%s already", j.Name, settings.ConfigFlag))
	}
	own.VisitAll(cmd.Flags().AddFlag)
}

func (v *verb) flags(cmd *cobra.Command) {
	v.target.AddFor(cmd, v.config.Job.Name)
	v.logging.Flags(cmd)
	f, c := cmd.Flags(), &v.config
	f.StringVar(&v.task, "task", "1/1", "which share of the input: i/n, from 1/n to n/n")
	f.StringVar(&v.restore, "restore", "adopt", "what becomes of a restored cut: adopt (go on from it) or fresh (only check it, read everything again)")
	f.IntVar(&c.Parallelism, "parallelism", 0, "goroutines that share the work behind each key-by; 0 means what the job says, or 1; may change between runs")
	f.DurationVar(&c.ProgressInterval, "progress-interval", 10*time.Second, "time between two log lines that say how far the task has come; 0 means none")
	f.DurationVar(&c.PresenceTTL, "presence-ttl", worker.DefaultPresenceTTL, "how long the task counts as alive after its last sign of life; not above the coordinator's")
	f.DurationVar(&c.CutTimeout, "cut-timeout", worker.DefaultCutTimeout, "longest wait for the record in work; beyond it a checkpoint is declined")
	f.DurationVar(&c.UploadTimeout, "upload-timeout", worker.DefaultUploadTimeout, "longest time to store one cut; beyond it a checkpoint is declined")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", worker.DefaultDrainTimeout, "how long a shutdown waits for a cut that is being stored")
	f.IntVar(&c.Uploads, "checkpoint-threads", worker.DefaultUploads, "chunks stored at once")
	f.Int64Var(&c.MaxState, "max-state", worker.DefaultMaxState, "largest state in bytes before compression; a larger one is declined")
}

// run turns the flags into a configuration and works by it.
func (v *verb) run(cmd *cobra.Command) error {
	logger, err := v.logging.Logger(cmd)
	if err != nil {
		return err
	}
	share, err := tasks.ParseShare(v.task)
	if err != nil {
		return cli.Usagef("--task: %w", err)
	}
	job, err := v.target.JobID()
	if err != nil {
		return err
	}
	cfg := v.config
	cfg.Job.Name, cfg.Index, cfg.Count, cfg.Logger = job.String(), share.Number-1, share.Count, logger
	switch v.restore {
	case "adopt":
	case "fresh":
		cfg.Fresh = true
	default:
		return cli.Usagef("--restore %q is not adopt or fresh", v.restore)
	}
	return exitOf(run(cmd.Context(), cfg, func(ctx context.Context, _ Share) (connection, error) {
		t, err := v.target.Open(ctx, logger)
		if err != nil {
			return connection{}, err
		}
		return connected(t), nil
	}))
}

// exitOf gives an error of the worker its exit code: two of them a restart does not mend.
func exitOf(err error) error {
	switch {
	case errors.Is(err, worker.ErrSuperseded):
		return cli.Coded(cli.ExitSuperseded, fmt.Errorf("%w; start this one again only when that one has ended: the newer one always wins", err))
	case errors.Is(err, worker.ErrCommit):
		return cli.Coded(cli.ExitCommit, err)
	case errors.Is(err, worker.ErrShare):
		return cli.Usage(err)
	default:
		return err
	}
}
