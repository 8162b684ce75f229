package worker_test

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog/memlog"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
	"github.com/tidemark-stream/tidemark/worker"
)

// A whole job in one process: a log and a store in memory, a coordinator, and one worker that sums numbers by parity. On
// Redis, redislog.Open and the NewJob of store/redis take the place of the first two.
func Example() {
	ctx := context.Background()
	log := memlog.New(memlog.Config{Job: "sums"})
	records, _ := memory.NewJob(memory.JobOptions{Leader: func() (store.Fence, bool) {
		epoch, instance, ok := log.Token()
		return store.Fence{Epoch: epoch, Instance: instance}, ok
	}})
	c, err := coordinator.Open(ctx, coordinator.Config{
		Job: "sums", Log: log, Store: records, Tasks: []events.TaskID{"task-0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	var rows engine.Rows[int]
	w, err := worker.New(worker.Config{
		Task: "task-0", Log: log, Store: records, Mode: engine.Adopt,
		Build: func(worker.Start) (worker.Pipeline, error) {
			g := engine.New(engine.Config{})
			numbers := engine.From[int](g, engine.Slice([]int{1, 2, 3, 4}))
			byParity := engine.KeyBy(numbers, func(n int) bool { return n%2 == 0 })
			engine.ToRows(engine.Reduce(byParity, func(a, b int) int { return a + b }), &rows)
			return g.Build()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended:", w.Run(ctx))
	fmt.Println("sums:", rows.All())
	end, err := c.Latest(ctx)
	fmt.Println("the end state is in checkpoint", end.ID, err)
	// Output:
	// ended: <nil>
	// sums: [1 2 4 6]
	// the end state is in checkpoint 0 <nil>
}
