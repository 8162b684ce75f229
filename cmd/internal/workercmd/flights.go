package workercmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/examples/flights"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/job"
)

const about = `The input is a file of JSON lines, plain or gzip:
  {"ts":978312240000,"origin":"LAS","destination":"OAK","delay":-5,"distance":407}
Every worker reads all of it and keeps the origins whose hash is its share. The output is a file of JSON lines, one for
each origin and day: number of flights, sum and maximum of delay. Each row is in it exactly once, whatever crashes.

A job of your own is a program of about ten lines around package job, with the same verbs and flags; see its example.`

const example = `  worker run --task 1/3 --output out/
  worker run --task 2/3 --input flights.jsonl.gz --output out/task-2.jsonl --redis redis://10.0.0.5:6379`

// options are the flags of the job.
type options struct {
	input, output  string
	rate           float64
	outOfOrderness time.Duration
}

// Flights returns the job.
func Flights() job.Job {
	o := &options{}
	return job.Job{
		Name: target.DefaultJob, Program: "worker", About: about, Example: example,
		Flags: o.flags, Open: o.open, Build: o.build,
	}
}

func (o *options) flags(f *pflag.FlagSet) {
	f.StringVar(&o.input, "input", "", "file of JSON lines, plain or gzip; empty means the flight records that come with the program")
	f.StringVar(&o.output, "output", ".", "file for the rows, or a folder, for <task>.jsonl in it")
	f.Float64Var(&o.rate, "rate", 0, "lines read per second; 0 means no limit")
	f.DurationVar(&o.outOfOrderness, "out-of-orderness", flights.OutOfOrderness, "how far a record may lie behind the newest one, in event time")
}

// open makes sure of the input file; without one it writes the flight records to a temporary file.
func (o *options) open(context.Context, job.Share) (closer func() error, err error) {
	if o.input != "" {
		if _, err := os.Stat(o.input); err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "tidemark-input-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the flight records: %w", err)
	}
	remove := func() error {
		_ = os.RemoveAll(dir) // a temporary folder that stays is no failure of the run
		return nil
	}
	o.input = filepath.Join(dir, "flights.jsonl.gz")
	if err := flights.WriteInput(o.input); err != nil {
		_ = remove()
		return nil, err
	}
	return remove, nil
}

func (o *options) build(s job.Share) (*engine.Graph, error) {
	output, err := s.File(o.output)
	if err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	return flights.Graph(flights.Config{
		Input: o.input, Output: output, Index: s.Index, Count: s.Count, Rate: o.rate, OutOfOrderness: o.outOfOrderness,
	})
}
