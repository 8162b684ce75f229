package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tidemark-stream/tidemark/engine"
)

// An output with transactions: a file is there once the checkpoint has been completed that covers its rows, each row once.
func ExampleToTwoPhase() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // An example.
	var checkpoints *engine.Checkpoints
	g := engine.New(engine.Config{})
	orders := engine.TryMap(engine.From(g, engine.Slice([]int{11, 12, 13})), func(c engine.Context, order int) (int, error) {
		if order != 13 {
			return order, nil
		}
		id, err := checkpoints.Trigger(c) // before order 13: the first two are committed
		files, listed := engine.CommittedFiles(dir, "orders")
		fmt.Println("checkpoint", id, "files", len(files))
		return order, errors.Join(err, listed)
	})
	engine.ToTwoPhase(orders, &engine.TxnFiles[int]{Dir: dir, Name: "orders", Format: engine.JSONRow[int]})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	checkpoints = p.EnableCheckpoints(0)
	fmt.Println(p.Run(ctx), p.Finish(ctx)) // Finish commits what came after the last checkpoint
	files, err := engine.CommittedFiles(dir, "orders")
	for _, path := range files {
		rows, err := os.ReadFile(path)
		fmt.Printf("%q %v\n", rows, err)
	}
	fmt.Println(err)
	// Output:
	// checkpoint 1 files 1
	// <nil> <nil>
	// "11\n12\n" <nil>
	// "13\n" <nil>
	// <nil>
}
