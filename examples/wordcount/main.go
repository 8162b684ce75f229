// Command wordcount is a job of a user's own: it counts the words of a text file and writes each word with its running
// count, exactly once whatever crashes. Its coordinator runs apart:
//
//	coordinator serve --job wordcount --tasks 1 --interval 1s
//	wordcount redis://127.0.0.1:6379 text.txt counts.jsonl
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	storeredis "github.com/tidemark-stream/tidemark/store/redis"
	"github.com/tidemark-stream/tidemark/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: wordcount redis://host:port input.txt output.jsonl")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "wordcount:", err)
		os.Exit(1)
	}
}

// run works on the job's only task until the input ends.
func run(ctx context.Context, address, input, output string) error {
	single, err := redis.ParseURL(address)
	if err != nil {
		return fmt.Errorf("redis address: %w", err)
	}
	opts := &redis.UniversalOptions{Addrs: []string{single.Addr}, Username: single.Username, Password: single.Password, DB: single.DB}
	redislog.Tune(opts) // among others: nothing is sent twice
	client := redis.NewUniversalClient(opts)

	log, err1 := redislog.Open(redislog.Config{Job: "wordcount", Client: client})
	records, err2 := storeredis.NewJob(client, "wordcount", storeredis.JobOptions{})
	w, err3 := worker.New(worker.Config{
		Task: "task-1", Log: log, Store: records, Mode: engine.Adopt,
		Build: func(worker.Start) (worker.Pipeline, error) { return pipeline(input, output) },
	})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	return errors.Join(w.Run(ctx), client.Close())
}

// count is one line of the output.
type count struct {
	Word string `json:"word"`
	N    int64  `json:"n"`
}

// pipeline is the job: a graph from source to sink.
func pipeline(input, output string) (*engine.Pipeline, error) {
	g := engine.New(engine.Config{})
	lines := engine.From(g, engine.JSONLines[string]{Path: input, Decode: text})
	words := engine.FlatMap(lines, func(line string, emit func(string)) {
		for word := range strings.FieldsSeq(strings.ToLower(line)) {
			emit(word)
		}
	})
	byWord := engine.KeyBy(words, func(word string) string { return word })
	counts := engine.Process(byWord, func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, count] {
		n := engine.ValueOf[int64](op, "n")
		return func(_ engine.Context, word, _ string, emit func(count)) error {
			n.Put(n.Get() + 1)
			emit(count{word, n.Get()})
			return nil
		}
	})
	engine.ToFile(counts, output, engine.JSONRow[count])
	return g.Build()
}

// text reads a line as it stands.
func text(line []byte, v *string) error {
	*v = string(line)
	return nil
}
