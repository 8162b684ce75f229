package coordinator_test

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store/memory"
)

// One process that coordinates its own tasks: trigger, put state into the open record, three acks, restore, clean up.
// With store/redis, opened with the KeyPrefix "example:checkpoint:", the record is the plain string example:checkpoint:0.
func Example() {
	ctx := context.Background()
	records := memory.New(memory.Options{})
	c, err := coordinator.Open(ctx, coordinator.Config{Store: records, RequiredAcks: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	checkpoint, err := c.Trigger(ctx, coordinator.TriggerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	open, _ := records.Load(ctx, checkpoint.ID)
	open.State["user-count"] = 1000
	open.State["offsets"] = map[string]int{"p0": 11, "p1": 22}
	_ = records.Store(ctx, open)

	for _, task := range []events.TaskID{"task-1", "task-2", "task-3"} {
		outcome, err := c.Acknowledge(ctx, checkpoint.ID, task, coordinator.Ack{})
		fmt.Println(task, outcome.Kind, err)
	}
	fmt.Println("verdict:", checkpoint.Wait(ctx))

	n, err := c.Restore(ctx, checkpoint.ID, func(key string, value any) error {
		fmt.Println(key, value)
		return nil
	})
	fmt.Println("restored", n, err)
	removed, err := c.Cleanup(ctx, 2)
	fmt.Println("removed", removed, err)
	// Output:
	// task-1 applied <nil>
	// task-2 applied <nil>
	// task-3 completing <nil>
	// verdict: <nil>
	// offsets map[p0:11 p1:22]
	// user-count 1000
	// restored 2 <nil>
	// removed 0 <nil>
}
