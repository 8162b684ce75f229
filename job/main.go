package job

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/settings"
)

// Main is the whole of a program that works on the job: it reads the command line, runs the verb, and ends the process with one of
// the exit codes of the package comment. The first SIGINT, SIGTERM or SIGHUP ends the work in order, a second one at once.
func Main(j Job) {
	cli.SetUpLogs()
	os.Exit(cli.Main(Command(j)))
}

// Command is the command line of [Main]: the verbs run, health, config, version and completion, and the flag --config. It is for a
// program that has verbs of its own besides, and for tests; signals and exit codes are up to the caller then.
func Command(j Job) *cobra.Command {
	program := j.program()
	root := cli.NewRoot(program, "Work on tasks of a Tidemark job",
		"Work on tasks of a Tidemark job: process records, and take part in its checkpoints.")
	run := runCommand(j)
	root.AddCommand(run, healthCommand(j), cli.ConfigCommand(program, run))
	cli.KnowSettings(root, settings.Coordinator())
	return root
}

func (j Job) program() string {
	if j.Program != "" {
		return j.Program
	}
	return j.Name
}
