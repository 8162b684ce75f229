package projection_test

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// A log becomes a state, and a state becomes what is to be done next.
func Example() {
	s := projection.New("orders")
	log := []events.Event{
		&events.CoordinatorStarted{Epoch: 1, Instance: "c1", Policy: events.Policy{
			Count: 2, MaxConcurrent: 1, Retain: 1, QueueLimit: 10,
		}},
		&events.CheckpointTriggered{Epoch: 1, Checkpoint: 0, Type: events.TypeCheckpoint, Count: 2},
		&events.TaskAcked{Checkpoint: 0, Task: "task-1", Epoch: 1},
		&events.TaskAcked{Checkpoint: 0, Task: "task-1", Epoch: 1},
		&events.TaskAcked{Checkpoint: 0, Task: "task-2", Epoch: 1},
	}
	for i, e := range log {
		o := s.Apply(events.Position{Ms: uint64(i + 1)}, events.Envelope{Event: e})
		fmt.Println(e.Kind(), o.Kind)
	}
	for _, d := range projection.Decide(s, projection.NewTiming(0, s), 0, projection.Gates{}) {
		fmt.Printf("%T %v\n", d, d)
	}
	// Output:
	// coordinator_started applied
	// checkpoint_triggered applied
	// task_acked applied
	// task_acked duplicate
	// task_acked completing
	// projection.Finalize {0}
}
