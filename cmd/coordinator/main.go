// Command coordinator coordinates the checkpoints of a job and answers questions about them: see "coordinator --help".
package main

import (
	"os"

	"github.com/tidemark-stream/tidemark/cmd/internal/servecmd"
	"github.com/tidemark-stream/tidemark/internal/cli"
)

func main() {
	cli.SetUpLogs()
	root := cli.NewRoot("coordinator", "Coordinate the checkpoints of a job",
		`Coordinate the checkpoints of a job, and answer questions about them.

Every trigger, ack, decline and verdict is an event in a Redis Stream. "serve" runs the coordinator; all other verbs
need nothing but Redis: they append a request to the log and follow it to its verdict, or read what happened.`)
	serve := servecmd.Serve()
	root.AddCommand(
		demoCommand(), serve, triggerCommand(), abortCommand(), withdrawCommand(),
		listCommand(), showCommand(), logCommand(), statusCommand(), healthCommand(), forgetCommand(),
		cli.ConfigCommand(root.Name(), serve), demoWorkerCommand(),
	)
	os.Exit(cli.Main(root))
}
