package engine

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
)

// Pipeline is a built graph, for one run. Run is called once; all other methods may be called from any goroutine.
type Pipeline struct {
	task    *task
	started atomic.Bool
	mirror  atomic.Pointer[[]iter.Seq[Entry]] // set by Restore; dropped by Run in mode Adopt
}

// Run reads every source to its end, flushes what is left in windows, and returns nil; or it ends with the first error
// of a user's function, a source or a sink (*[OperatorError]), or with the cause of ctx. It blocks until every
// goroutine that it started has ended. After a return without an error of a function, the pipeline can still be cut.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.started.Swap(true) {
		return fmt.Errorf("run: %w", ErrStarted)
	}
	if p.task.adopted {
		p.mirror.Store(nil)
	}
	return p.task.run(ctx)
}

// Cut takes a snapshot between two records, over all state of the graph at once, under the id of a checkpoint. It works
// before the first record, during the run and after its end. It waits for the record in work, but no longer than ctx;
// and never for a source, a full queue, or a sink. From inside a function of a record it is taken at once if ctx is the
// record's [Context] or derived from it, and holds what the record has written so far. Such a cut lies inside that
// record: its source position is before the record, so adopting it processes the record again.
func (p *Pipeline) Cut(ctx context.Context, id int64) (*Snapshot, error) {
	t := p.task
	if c, ok := ctx.Value(fenceKey{}).(Context); ok && t.inside(c) {
		return t.cut(id)
	}
	if err := t.lock.acquire(ctx); err != nil {
		return nil, fmt.Errorf("cut %d: wait for the record in work: %w", id, err)
	}
	defer t.lock.release()
	if t.failed != nil {
		return nil, fmt.Errorf("cut %d: %w: %w", id, ErrFailed, t.failed)
	}
	return t.cut(id)
}

// cut asks every part for its items.
func (t *task) cut(id int64) (*Snapshot, error) {
	s := &Snapshot{ID: id}
	for _, p := range t.parts {
		is, err := p.cut(id)
		if err != nil {
			return nil, fmt.Errorf("cut %d: %s: %w", id, p.partName(), err)
		}
		s.Items = append(s.Items, is...)
	}
	return s, nil
}

// Restore prepares the pipeline with the items of a cut of the same graph, before Run. It is strict: an item that is
// missing, unknown or unreadable is an error that names it. The cut is taken whole: after an error of an item the
// pipeline is as it was; only functions of [RegisterSnapshotSource] that had been called before one of them failed
// have run.
func (p *Pipeline) Restore(ctx context.Context, cut map[string][]byte, mode RestoreMode) error {
	t := p.task
	if mode != Fresh && mode != Adopt {
		return fmt.Errorf("restore in mode %d: %w", mode, ErrInvalid)
	}
	if c, ok := ctx.Value(fenceKey{}).(Context); (ok && t.inside(c)) || p.started.Load() {
		return fmt.Errorf("restore: %w", ErrStarted)
	}
	if err := t.lock.acquire(ctx); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer t.lock.release()
	if p.started.Load() { // meanwhile; and if not, Run waits for the lock
		return fmt.Errorf("restore: %w", ErrStarted)
	}
	in := &items{bytes: cut, taken: make(map[string]bool)}
	var commits []func()
	for _, part := range t.parts {
		commit, err := part.load(in, mode)
		if err != nil {
			return fmt.Errorf("restore %s: %w", part.partName(), err)
		}
		commits = append(commits, commit)
	}
	if err := in.rest(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	for _, part := range t.parts {
		if u, ok := part.(*userState); ok {
			if err := u.restore(u.loaded); err != nil {
				return fmt.Errorf("restore %s: %w", u.name, err)
			}
		}
	}
	for _, commit := range commits {
		commit()
	}
	t.adopted = mode == Adopt
	t.publish()
	p.mirror.Store(&in.mirror)
	return nil
}

// Mirror shows the cut that was handed to Restore as text, for inspection; nothing if there was none. In mode Adopt it ends
// when Run begins, since it would keep a copy of the state alive.
func (p *Pipeline) Mirror() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		m := p.mirror.Load()
		if m == nil {
			return
		}
		for _, entries := range *m {
			for e := range entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Completed tells the sinks that the checkpoint with this id has been completed: they commit what its cut covers. It may be
// called again, and late; it takes no lock of the pipeline.
func (p *Pipeline) Completed(ctx context.Context, id int64) error {
	for _, s := range p.task.sinks {
		if err := s.completed(ctx, id); err != nil {
			return fmt.Errorf("checkpoint %d completed: %w", id, err)
		}
	}
	return nil
}

// Failed tells the sinks that the checkpoint with this id will never complete. What its cut covers is not lost: it is part
// of the next one.
func (p *Pipeline) Failed(ctx context.Context, id int64) error {
	for _, s := range p.task.sinks {
		if err := s.aborted(ctx, id); err != nil {
			return fmt.Errorf("checkpoint %d failed: %w", id, err)
		}
	}
	return nil
}

// Finish commits what the sinks hold, for a run without checkpoints: it cuts, makes the cut durable where sinks need it,
// and declares it completed. Call it after Run has returned nil.
func (p *Pipeline) Finish(ctx context.Context) error {
	s, err := p.Cut(ctx, 0)
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	for _, i := range s.Items {
		if _, err := i.Encode(); err != nil {
			return fmt.Errorf("finish: %w", err)
		}
	}
	return p.Completed(ctx, 0)
}

// Progress is how far a pipeline has come. While records flow it is up to 32 records behind.
type Progress struct {
	RecordsIn   int64 // records processed, over all sources, including those before the adopted cut
	RecordsOut  int64 // records that reached a sink, in this run
	LateDropped int64 // records dropped because all their windows had been emitted, in this run
	Watermark   int64 // the lowest of all assigned watermarks; [MinWatermark] before the first
	Sources     []SourceProgress
	Windows     []WindowProgress // one for each window operator
}

// SourceProgress is how far one source has been processed.
type SourceProgress struct {
	Name    string
	Records int64 // processed, including those before the adopted cut
	Offset  int64 // where reading would resume
	Done    bool  // ended and flushed
}

// Progress reads counters; it takes no lock and never waits.
func (p *Pipeline) Progress() Progress {
	t := p.task
	r := Progress{RecordsOut: t.progress.out.Load(), LateDropped: t.progress.late.Load(), Watermark: MinWatermark}
	for _, in := range t.inputs {
		s := in.progress()
		r.RecordsIn += s.Records
		r.Sources = append(r.Sources, s)
	}
	for _, s := range t.strays {
		r.Windows = append(r.Windows, s.progress())
	}
	for i, h := range t.holders {
		if wm := h.shown.Load(); i == 0 || wm < r.Watermark {
			r.Watermark = wm
		}
	}
	return r
}
