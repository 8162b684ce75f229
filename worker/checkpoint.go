package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// cutting is a checkpoint that is being taken.
type cutting struct {
	pending eventlog.PendingCheckpoint
	after   bool // started when the input had ended
	cancel  context.CancelFunc
}

// answer is what became of one cut.
type answer struct {
	taken  bool                   // the pipeline has cut
	said   bool                   // an ack or a decline was sent, or may have been
	stored map[events.Digest]bool // its chunks, if all were stored
}

// refusal is why a checkpoint is declined.
type refusal struct {
	reason events.DeclineReason
	err    error
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %v", r.reason, r.err) }
func (r *refusal) Unwrap() error { return r.err }

// start begins the oldest pending checkpoint that has not been answered, and gives up one that is pending no more. A
// worker that was held up through many failed ones finds only the living in the state, so it starts none of the dead.
func (a *attempt) start(life context.Context, wg *sync.WaitGroup) {
	if a.cutting != nil {
		if !a.pending(orderOf(a.cutting.pending)) {
			a.cutting.cancel()
		}
		return
	}
	for _, p := range a.last.Pending {
		if !a.newest.before(orderOf(p)) {
			continue
		}
		ctx, cancel := context.WithCancel(life) // not of the work: a shutdown waits for it
		a.cutting = &cutting{pending: p, after: a.ended, cancel: cancel}
		stored := a.stored
		wg.Go(func() { a.answers <- a.checkpoint(ctx, p, stored) })
		return
	}
}

// answered notes the end of a cut. One that was taken is remembered even if it was declined or given up: the pipeline
// wants to know what became of it, and an ack whose outcome is not known may have completed it.
func (a *attempt) answered(ans answer) {
	c := a.cutting
	c.cancel()
	a.cutting = nil
	a.newest = orderOf(c.pending)
	if ans.stored != nil {
		a.stored = ans.stored
	}
	if ans.taken {
		a.cuts = slices.DeleteFunc(a.cuts, func(old cut) bool { return old.id == c.pending.ID }) // of a lost epoch
		a.cuts = append(a.cuts, cut{orderOf(c.pending), c.after})
	}
}

// checkpoint takes a cut under the checkpoint lock, serialises and stores it outside, and says so; on any mistake it
// declines at once. A checkpoint that is pending no more (ctx ends) is given up without a word. before are the chunks
// that the last cut has stored.
func (a *attempt) checkpoint(ctx context.Context, p eventlog.PendingCheckpoint, before map[events.Digest]bool) (ans answer) {
	began := time.Now()
	snapshot, err := a.cut(ctx, p.ID)
	ans.taken = err == nil
	e := &events.TaskAcked{
		Checkpoint: p.ID, Task: a.cfg.Task, Attempt: a.assigned.Attempt, Epoch: p.Epoch, JoiningEvent: p.JoiningEvent,
		Measures: events.Measures{
			StartDelay: max(0, began.UnixMilli()-p.TriggeredAt),
			Sync:       time.Since(began).Milliseconds(), Records: a.pipeline.Progress().RecordsIn,
		},
	}
	if err == nil {
		cut := time.Now()
		e.Handle, err = a.store(ctx, snapshot)
		e.Measures.Async = time.Since(cut).Milliseconds()
	}
	switch {
	case ctx.Err() != nil || a.lapsed():
		return ans
	case err != nil:
		a.log.Warn().Err(err).Stringer("checkpoint", p.ID).Msg("Checkpoint declined by task")
		ans.said = true
		a.decline(ctx, p, err)
		return ans
	}
	ans.stored, e.Measures.Bytes = written(e.Handle, before)
	ans.said = true
	if err := a.publish(ctx, e); err != nil {
		if ctx.Err() == nil { // the log refused it, so nobody waits in vain
			a.log.Error().Err(err).Stringer("checkpoint", p.ID).Msg("ack")
			a.decline(ctx, p, err)
		}
		return ans
	}
	a.log.Info().Stringer("checkpoint", p.ID).Int64("bytes", e.Handle.Bytes()).Int("chunks", len(e.Handle.Chunks)).
		Int64("sync_ms", e.Measures.Sync).Int64("async_ms", e.Measures.Async).Msg("acked")
	return ans
}

// written gives the chunks of a handle, and how many bytes of them are new since the cut before.
func written(h events.StateHandle, before map[events.Digest]bool) (chunks map[events.Digest]bool, bytes int64) {
	chunks = make(map[events.Digest]bool, len(h.Chunks))
	for _, c := range h.Chunks {
		if !before[c.Digest] && !chunks[c.Digest] {
			bytes += c.Bytes
		}
		chunks[c.Digest] = true
	}
	return chunks, bytes
}

// longestText bounds what an event says in words, in bytes.
const longestText = 1000

// clip shortens a text for an event.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), longestText)], "") }

// decline refuses a checkpoint. A cause that is not a *refusal has the reason "other".
func (a *attempt) decline(ctx context.Context, p eventlog.PendingCheckpoint, cause error) {
	no := &refusal{events.DeclinedOther, cause}
	errors.As(cause, &no)
	e := &events.TaskDeclined{
		Checkpoint: p.ID, Task: a.cfg.Task, Attempt: a.assigned.Attempt, Epoch: p.Epoch,
		Reason: no.reason, Text: clip(no.err.Error()),
	}
	if err := a.publish(ctx, e); err != nil {
		a.log.Error().Err(err).Stringer("checkpoint", p.ID).Msg("decline")
	}
}

// cut takes the snapshot. Its error is a *refusal.
func (a *attempt) cut(ctx context.Context, id events.CheckpointID) (*engine.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CutTimeout)
	defer cancel()
	snapshot, err := a.pipeline.Cut(ctx, int64(id))
	switch {
	case err == nil:
		return snapshot, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		err = fmt.Errorf("no gap between two records within %s: %w", a.cfg.CutTimeout, err)
		return nil, &refusal{events.DeclinedLimitExceeded, err}
	default:
		return nil, &refusal{events.DeclinedCutFailed, err}
	}
}

// store stores a cut within UploadTimeout. Its error is a *refusal, unless ctx ended.
func (a *attempt) store(ctx context.Context, s *engine.Snapshot) (events.StateHandle, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.UploadTimeout)
	defer cancel()
	handle, err := a.upload(ctx, s)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &refusal{events.DeclinedLimitExceeded, fmt.Errorf("not stored within %s: %w", a.cfg.UploadTimeout, err)}
	}
	return handle, err
}

// upload serialises the items piece by piece and stores them, Uploads at once: that many pieces are in memory at most, and
// one more.
func (a *attempt) upload(ctx context.Context, s *engine.Snapshot) (events.StateHandle, error) {
	var refs []*events.ChunkRef
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.cfg.Uploads)
	encodeErr := a.encode(ctx, s, func(p piece) error {
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
