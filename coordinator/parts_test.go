package coordinator_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/coordinator"
	"github.com/tidemark-stream/tidemark/events"
)

// What stands in the record is what a worker decodes when it restores.
func TestHandlesStandInTheRecordAsTasksSentThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := chunk(t, w.store, "a"), chunk(t, w.store, "b")
		b.Name = "other \"part\""
		foreign := a
		foreign.Unknown = events.Unknown(`"later":{"x":1}`)
		handles := map[events.TaskID]events.StateHandle{
			"chunks":  {Chunks: []events.ChunkRef{a, b}},
			"inline":  {Inline: []byte(`{"offset":9007199254740993}`)},
			"both":    {Chunks: []events.ChunkRef{a}, Inline: []byte(`[1,2.5]`)},
			"foreign": {Chunks: []events.ChunkRef{foreign}},
		}
		c := w.open(func(cfg *coordinator.Config) { cfg.RequiredAcks = len(handles) })
		h := trigger(t, c, none)
		for task, handle := range handles {
			if _, err := c.Acknowledge(t.Context(), h.ID, task, coordinator.Ack{Handle: handle}); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, h)
		cp := wantRecord(t, c, h.ID, true)
		for task, want := range handles {
			raw, err := json.Marshal(cp.State[task.String()])
			if err != nil {
				t.Fatal(err)
			}
			got, err := events.DecodeHandle(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s:\n%s", task, diff)
			}
		}
	})
}
