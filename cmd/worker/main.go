// Command worker runs tasks of a job: see "worker run --help".
package main

import (
	"github.com/tidemark-stream/tidemark/cmd/internal/workercmd"
	"github.com/tidemark-stream/tidemark/job"
)

func main() { job.Main(workercmd.Flights()) }
