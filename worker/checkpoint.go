package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// answer is what became of one cut.
type answer struct{ acked bool }

// refusal is why a checkpoint is declined.
type refusal struct {
	reason events.DeclineReason
	err    error
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %v", r.reason, r.err) }
func (r *refusal) Unwrap() error { return r.err }

// checkpoint takes a cut under the checkpoint lock, serialises and stores it outside, and says so; on any mistake it
// declines at once. A checkpoint that is pending no more (ctx ends) is given up without a word.
func (a *attempt) checkpoint(ctx context.Context, p eventlog.PendingCheckpoint) answer {
	began := time.Now()
	handle, measures, err := a.take(ctx, p.ID, began)
	if ctx.Err() != nil {
		return answer{}
	}
	var no *refusal
	if errors.As(err, &no) {
		a.log.Warn().Err(err).Stringer("checkpoint", p.ID).Msg("Checkpoint declined by task")
		a.decline(ctx, p, no.reason, no.err.Error())
		return answer{}
	}
	measures.StartDelay = began.UnixMilli() - p.TriggeredAt
	e := &events.TaskAcked{
		Checkpoint: p.ID, Task: a.cfg.Task, Attempt: a.assigned.Attempt, Epoch: p.Epoch, Handle: handle,
		JoiningEvent: p.JoiningEvent, Measures: measures,
	}
	if err := a.publish(ctx, e); err != nil {
		if ctx.Err() == nil { // the log refused it, so nobody waits in vain
			a.log.Error().Err(err).Stringer("checkpoint", p.ID).Msg("ack")
			a.decline(ctx, p, events.DeclinedOther, err.Error())
		}
		return answer{}
	}
	a.log.Info().Stringer("checkpoint", p.ID).Int64("bytes", handle.Bytes()).Int("chunks", len(handle.Chunks)).
		Int64("sync_ms", measures.Sync).Int64("async_ms", measures.Async).Msg("acked")
	return answer{acked: true}
}

func (a *attempt) decline(ctx context.Context, p eventlog.PendingCheckpoint, reason events.DeclineReason, text string) {
	const longest = 1000
	e := &events.TaskDeclined{
		Checkpoint: p.ID, Task: a.cfg.Task, Attempt: a.assigned.Attempt, Epoch: p.Epoch,
		Reason: reason, Text: text[:min(len(text), longest)],
	}
	if err := a.publish(ctx, e); err != nil {
		a.log.Error().Err(err).Stringer("checkpoint", p.ID).Msg("decline")
	}
}

// take cuts and stores. Its error is a *refusal.
func (a *attempt) take(ctx context.Context, id events.CheckpointID, began time.Time) (events.StateHandle, events.Measures, error) {
	cutCtx, cancel := context.WithTimeout(ctx, a.cfg.CutTimeout)
	snapshot, err := a.pipeline.Cut(cutCtx, int64(id))
	cancel()
	if err != nil {
		reason := events.DeclinedCutFailed
		if errors.Is(err, context.DeadlineExceeded) {
			reason, err = events.DeclinedLimitExceeded, fmt.Errorf("no gap between two records within %s: %w", a.cfg.CutTimeout, err)
		}
		return events.StateHandle{}, events.Measures{}, &refusal{reason, err}
	}
	cut := time.Now()
	m := events.Measures{Sync: cut.Sub(began).Milliseconds(), Records: a.pipeline.Progress().RecordsIn}
	storeCtx, cancel := context.WithTimeout(ctx, a.cfg.UploadTimeout)
	defer cancel()
	handle, err := a.store(storeCtx, snapshot)
	m.Async = time.Since(cut).Milliseconds()
	m.Bytes = handle.Bytes()
	if err != nil && errors.Is(storeCtx.Err(), context.DeadlineExceeded) {
		err = &refusal{events.DeclinedLimitExceeded, fmt.Errorf("not stored within %s: %w", a.cfg.UploadTimeout, err)}
	}
	return handle, m, err
}

// store serialises the items piece by piece and stores them, Uploads at once: that many pieces are in memory at most, and
// one more. Its error is a *refusal.
func (a *attempt) store(ctx context.Context, s *engine.Snapshot) (events.StateHandle, error) {
	var refs []*events.ChunkRef
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.cfg.Uploads)
	encodeErr := a.encode(s, func(p piece) error {
		ref := &events.ChunkRef{Name: p.name}
		refs = append(refs, ref)
		group.Go(func() error {
			stored, err := a.cfg.Store.PutChunk(ctx, p.data)
			if err != nil {
				return &refusal{events.DeclinedUploadFailed, fmt.Errorf("store %s: %w", p.name, err)}
			}
			ref.Digest, ref.Bytes = events.Digest(stored.Digest), stored.Bytes
			return nil
		})
		return ctx.Err()
	})
	if err := group.Wait(); err != nil {
		return events.StateHandle{}, err
	}
	if encodeErr != nil {
		return events.StateHandle{}, encodeErr
	}
	handle := events.StateHandle{Chunks: make([]events.ChunkRef, len(refs))}
	for i, ref := range refs {
		handle.Chunks[i] = *ref
	}
	return handle, nil
}
