package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
	"github.com/tidemark-stream/tidemark/store/memory"
)

func Example() {
	ctx := context.Background()
	s := memory.New(memory.Options{})

	for id := range events.CheckpointID(3) {
		if err := s.Create(ctx, store.New(id, int64(id)*1000)); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err := s.Latest(ctx)
	fmt.Println(err)

	_, err = s.Complete(ctx, 1, func(cp *store.Checkpoint) error {
		cp.State["user-count"] = 1000
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	latest, err := s.Latest(ctx)
	fmt.Println(latest, err)

	removed, err := s.Cleanup(ctx, 1, nil) // open ones first, even the newest
	fmt.Println(removed, err)
	// Output:
	// no completed checkpoint
	// checkpoint id=1 ts=1000 completed=true version=1 entries=1 <nil>
	// 2 <nil>
}

// The chunks of a completed checkpoint are kept; those that nothing refers to any more are released.
func ExampleJob() {
	ctx := context.Background()
	job, err := memory.NewJob(memory.JobOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref, err := job.PutChunk(ctx, []byte("state of task-1")) // a worker
	fmt.Println(ref.Raw, err)

	token := store.Fence{Epoch: 1, Instance: "coordinator-a"}
	_, err = job.Fenced(token).Keep(ctx, []string{ref.Digest}) // not leading yet
	fmt.Println(err)

	job.SetLeader(token)
	missing, err := job.Fenced(token).Keep(ctx, []string{ref.Digest, store.Digest([]byte("lost"))})
	fmt.Println(len(missing), err)
	fmt.Println(job.Fenced(token).Release(ctx, []string{ref.Digest}, time.Hour))
	// Output:
	// 15 <nil>
	// keep chunks: fenced: not the leading coordinator
	// 1 <nil>
	// <nil>
}
