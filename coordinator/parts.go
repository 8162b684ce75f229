package coordinator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// parts is what the tasks have put into one checkpoint.
type parts struct {
	handles map[events.TaskID]events.StateHandle // of tasks that have any state
	digests []string                             // each once, in the order of tasks and chunks
	owners  map[string]string                    // digest -> "task/chunk", the first one
	bytes   int64
}

func gather(cp projection.Checkpoint) parts {
	p := parts{handles: make(map[events.TaskID]events.StateHandle), owners: make(map[string]string)}
	for ack := range cp.Acks() {
		if ack.Handle.IsZero() {
			continue
		}
		p.handles[ack.Task] = ack.Handle
		p.bytes += ack.Handle.Bytes()
		for _, c := range ack.Handle.Chunks {
			if _, ok := p.owners[string(c.Digest)]; !ok {
				p.owners[string(c.Digest)] = ack.Task.String() + "/" + c.Name
				p.digests = append(p.digests, string(c.Digest))
			}
		}
	}
	return p
}

// of is what these tasks have put in; all of it if there are none.
func (p parts) of(tasks []events.TaskID) parts {
	if len(tasks) == 0 {
		return p
	}
	some := parts{handles: make(map[events.TaskID]events.StateHandle), owners: p.owners}
	seen := make(map[events.Digest]bool)
	for _, task := range tasks {
		h := p.handles[task]
		some.handles[task] = h
		some.bytes += h.Bytes()
		for _, c := range h.Chunks {
			if !seen[c.Digest] {
				seen[c.Digest] = true
				some.digests = append(some.digests, string(c.Digest))
			}
		}
	}
	return some
}

// describe names at most five missing chunks by their owners.
func (p parts) describe(missing []string) string {
	const most = 5
	var names []string
	for _, d := range missing[:min(len(missing), most)] {
		names = append(names, fmt.Sprintf("%s (%.12s…)", p.owners[d], d))
	}
	text := fmt.Sprintf("%d of %d chunks are not in the store: %s", len(missing), len(p.digests), strings.Join(names, ", "))
	if len(missing) > most {
		text += ", …"
	}
	return text
}

// fill puts the handles into the record beside what tasks have put there themselves.
func (p parts) fill(cp *store.Checkpoint) error {
	if cp.State == nil {
		cp.State = make(store.State, len(p.handles))
	}
	for task, h := range p.handles {
		value, err := recorded(h)
		if err != nil {
			return err
		}
		cp.State[task.String()] = value
	}
	return nil
}

// recorded is a handle as it stands in a record: as [events.StateHandle.Encode] gives it. A handle of chunks alone, which is
// what workers send, is built from plain values: the store would parse text again, ten times as slowly.
func recorded(h events.StateHandle) (any, error) {
	foreign := func(c events.ChunkRef) bool { return len(c.Unknown) > 0 }
	if len(h.Inline) > 0 || len(h.Unknown) > 0 || slices.ContainsFunc(h.Chunks, foreign) {
		b, err := h.Encode(nil)
		return json.RawMessage(b), err
	}
	chunks := make([]any, len(h.Chunks))
	for i, c := range h.Chunks {
		chunks[i] = map[string]any{"name": c.Name, "digest": c.Digest.String(), "bytes": c.Bytes}
	}
	return map[string]any{"chunks": chunks}, nil
}

// recordSize is about how many bytes the handles take in a record: without what tasks have put there themselves.
func (p parts) recordSize() int {
	size := 0
	for task, h := range p.handles {
		const name, chunk = 32, 128 // quotes and braces; a digest and the names of its members
		size += name + len(task) + len(h.Inline) + len(h.Inline)/2
		for _, c := range h.Chunks {
			size += chunk + len(c.Name)
		}
	}
	return size
}
