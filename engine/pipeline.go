package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"
)

// Pipeline is a built graph, for one run. Run is called once; all other methods may be called from any goroutine.
type Pipeline struct {
	graph   *Graph
	started atomic.Bool
	mirror  atomic.Pointer[[]iter.Seq[Entry]] // set by Restore; dropped by Run in mode Adopt
	// checkpoints is nil until they are enabled.
	checkpoints atomic.Pointer[Checkpoints]

	// exec is what is run, cut and restored.
	exec atomic.Pointer[execution]
	// next goes on where exec ends, which has the number of subtasks of the cut that was adopted; nil if that is the pipeline's
	// own. Guarded by the locks of exec.
	next *execution

	// Of all executions, written while they are built.
	names   map[any]string // by node of the graph: what its state is kept under
	counts  map[string]int
	sources []string    // names, by number
	shared  map[any]any // by key: what sinks share
	parts   []part      // sinks, and state of the user's own
	sinks   []sinkPart  // those of parts that have something to write or commit
}

func newPipeline(g *Graph) (*Pipeline, error) {
	p := &Pipeline{graph: g, names: make(map[any]string), counts: make(map[string]int), shared: make(map[any]any)}
	e := newExecution(p, g.cfg.Parallelism)
	e.build()
	for _, u := range g.extra {
		p.register(e, &u)
	}
	if err := errors.Join(e.errs...); err != nil {
		return nil, err
	}
	p.exec.Store(e)
	return p, nil
}

// register adds to the cut what all executions share.
func (p *Pipeline) register(e *execution, part part) {
	e.register(part)
	e.parts = e.parts[:len(e.parts)-1]
	p.parts = append(p.parts, part)
}

// numberOf is the number of a source, from 1.
func (p *Pipeline) numberOf(source string) uint16 {
	i := slices.Index(p.sources, source)
	if i < 0 {
		p.sources = append(p.sources, source)
		i = len(p.sources) - 1
	}
	return uint16(i + 1)
}

// sourceName is the other way. What was under way at the cut of another graph may have come from a source that is gone.
func (p *Pipeline) sourceName(number uint16) string {
	if int(number) > len(p.sources) {
		return fmt.Sprintf("source number %d of the cut", number)
	}
	return p.sources[number-1]
}

// users gives the state of the user's own.
func (p *Pipeline) users() (list []*userState) {
	for _, part := range p.parts {
		if u, ok := part.(*userState); ok {
			list = append(list, u)
		}
	}
	return list
}

// Run reads every source to its end, flushes what is left in windows, and returns nil; or it ends with the first error
// of a user's function, a source or a sink (*[OperatorError]), or with the cause of ctx. It blocks until every
// goroutine that it started has ended. After a return without an error of a function, the pipeline can still be cut.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.started.Swap(true) {
		return fmt.Errorf("run: %w", ErrStarted)
	}
	return errors.Join(p.run(ctx), p.close())
}

func (p *Pipeline) run(ctx context.Context) error {
	e, err := p.acquire(ctx) // a restore that began before has ended then
	if err != nil {
		return err
	}
	adopted := e.adopted
	e.release()
	if adopted {
		p.mirror.Store(nil)
	}
	for _, s := range p.sinks {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	if err := p.rescale(ctx); err != nil {
		return err
	}
	return p.exec.Load().run(ctx)
}

// close writes out what the sinks still hold in memory.
func (p *Pipeline) close() error {
	var errs []error
	for _, s := range p.sinks {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Cut takes a snapshot between two records of each subtask, over all state of the graph at once, under the id of a checkpoint.
// It works before the first record, during the run and after its end. It waits for the records in work, but no longer than
// ctx; and never for a source, a full queue, or a sink. From inside a function of a record, with that record's [Context] or
// one derived from it, it is taken at once if there is one subtask, and holds what the record has written so far. Such a cut
// lies inside that record: its source position is before the record, so adopting it processes the record again. With several
// subtasks it is refused there ([ErrInRecord]); see [Pipeline.Request].
func (p *Pipeline) Cut(ctx context.Context, id int64) (*Snapshot, error) {
	s, err := p.cut(ctx, p.hold, func() int64 { return id })
	if err != nil {
		return nil, fmt.Errorf("cut %d: %w", id, err)
	}
	return s, nil
}

// cut asks for the id of the cut under the locks, so that ids are in the order of the cuts.
func (p *Pipeline) cut(ctx context.Context, hold holding, id func() int64) (*Snapshot, error) {
	began := time.Now()
	e, release, err := hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return e.snapshot(id(), time.Since(began))
}

// snapshot asks every part for its items.
func (e *execution) snapshot(id int64, waited time.Duration) (*Snapshot, error) {
	s := &Snapshot{ID: id, Waited: waited}
	for _, p := range slices.Concat(e.pipeline.parts, e.parts) {
		is, err := p.cut(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.partName(), err)
		}
		s.Items = append(s.Items, is...)
	}
	if e.parallelism > 1 {
		s.Items = append(s.Items, bytesItem(parallelismItem, appendParallelism(nil, e.parallelism)))
	}
	return s, nil
}

// Mirror shows the cut that was last handed to Restore, or that of the checkpoint that [Checkpoints.Restore] went back to, as
// text, for inspection; nothing if there was none. In mode Adopt it ends when Run begins, since it would keep a copy of the
// state alive.
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
	for _, s := range p.sinks {
		if err := s.completed(ctx, id); err != nil {
			return fmt.Errorf("checkpoint %d completed: %w", id, err)
		}
	}
	return nil
}

// Failed tells the sinks that the checkpoint with this id will never complete. What its cut covers is not lost: it is part
// of the next one.
func (p *Pipeline) Failed(ctx context.Context, id int64) error {
	for _, s := range p.sinks {
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
	if err == nil {
		err = p.makeDurable(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	return p.Completed(ctx, 0)
}
