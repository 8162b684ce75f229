// Command worker runs tasks of a job: see "worker run --help".
package main

import (
	"os"

	"github.com/tidemark-stream/tidemark/cmd/internal/servecmd"
	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/internal/cli"
)

func main() {
	cli.SetUpLogs()
	root := cli.NewRoot("worker", "Work on tasks of a Tidemark job",
		"Work on tasks of a Tidemark job: process records, and take part in its checkpoints.")
	run := workercmd.Run()
	root.AddCommand(run, workercmd.Health(), cli.ConfigCommand(root.Name(), run))
	cli.KnowSettingsOf(root, servecmd.Serve())
	os.Exit(cli.Main(root))
}
