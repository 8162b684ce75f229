package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
	"github.com/tidemark-stream/tidemark/store"
)

// finalizeTries is how often the proof of a checkpoint's state is tried before it fails as finalize_failed. With the
// pauses between them that is about half a minute of a store that answers with errors.
const finalizeTries = 8

const keyDiscard = "discard"

// finalize proves that every acked chunk is there and makes it permanent, and then appends the verdict. It never runs
// beside a discard, which gives chunks an end of life: a chunk that both refer to would be made permanent first and
// mortal after.
func (l *loop) finalize(r *reign, id events.CheckpointID) {
	if cp, ok := l.state.Checkpoint(id); ok {
		l.complete(r, cp, false)
	}
}

func (l *loop) complete(r *reign, cp projection.Checkpoint, forced bool) {
	if l.storeLane.runs(keyDiscard) || !l.storeLane.ready(l.clock(), key("finalize", cp.ID)) {
		return
	}
	r.finalizing[cp.ID]++
	parts := gather(cp)
	tries := r.finalizing[cp.ID]
	l.storeLane.start(r.ctx, l.clock(), key("finalize", cp.ID), func(ctx context.Context) result {
		missing, err := l.prove(ctx, r, parts)
		switch {
		case errors.Is(err, store.ErrFenced) || ctx.Err() != nil:
			return l.failed(r, "prove the state", err)
		case err != nil && tries < finalizeTries:
			return l.failed(r, fmt.Sprintf("prove the state of checkpoint %s, try %d of %d", cp.ID, tries, finalizeTries), err)
		case err != nil:
			return l.giveUp(ctx, r, cp.ID, events.FailedFinalize, fmt.Sprintf("the store failed %d times: %v", tries, err))
		case len(missing) > 0:
			return l.giveUp(ctx, r, cp.ID, events.FailedStateMissing, parts.describe(missing))
		}
		at, err := r.append(ctx, &events.CheckpointCompleted{
			Epoch: r.term.Epoch(), Checkpoint: cp.ID, RecordKey: l.recordKey(cp.ID), Bytes: parts.bytes, Forced: forced,
		})
		return l.appended(r, at, err)
	})
}

func (l *loop) giveUp(ctx context.Context, r *reign, id events.CheckpointID, reason events.FailureReason, text string) result {
	at, err := r.append(ctx, &events.CheckpointFailed{Epoch: r.term.Epoch(), Checkpoint: id, Reason: reason, Text: text})
	return l.appended(r, at, err)
}

// prove makes the chunks permanent and returns those that are not there.
func (l *loop) prove(ctx context.Context, r *reign, parts parts) ([]string, error) {
	if len(parts.digests) == 0 {
		return nil, nil
	}
	if r.chunks == nil {
		return parts.digests, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	return r.chunks.Keep(ctx, parts.digests)
}

// recordKey is where the record stands, for the reader of the log.
func (l *loop) recordKey(id events.CheckpointID) string {
	if named, ok := l.cfg.Store.(interface {
		RecordKey(id events.CheckpointID) string
	}); ok {
		return named.RecordKey(id)
	}
	return ""
}

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
		cp.State = store.State{}
	}
	for task, h := range p.handles {
		b, err := h.Encode(nil)
		if err != nil {
			return err
		}
		cp.State[task.String()] = json.RawMessage(b)
	}
	return nil
}
