package coordinator_test

import (
	"testing"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/store"
)

// chunk stores a piece of state as a worker does.
func chunk(t *testing.T, st store.Store, content string) events.ChunkRef {
	t.Helper()
	ref, err := st.(store.JobStore).PutChunk(t.Context(), []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return events.ChunkRef{Name: "part", Digest: events.Digest(ref.Digest), Bytes: ref.Bytes}
}

// ackWith stores the contents and acks with them.
func ackWith(
	t *testing.T, w *world, c *coordinator.Coordinator, id events.CheckpointID, task events.TaskID, contents ...string,
) []events.ChunkRef {
	t.Helper()
	var handle events.StateHandle
	for i, content := range contents {
		ref := chunk(t, w.store, content)
		ref.Name = string(rune('a' + i))
		handle.Chunks = append(handle.Chunks, ref)
	}
	if _, err := c.Acknowledge(t.Context(), id, task, coordinator.Ack{Handle: handle}); err != nil {
		t.Fatal(err)
	}
	return handle.Chunks
}
