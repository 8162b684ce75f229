package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// execution is a graph laid out over tasks, at one parallelism.
type execution struct {
	cfg         Config
	pipeline    *Pipeline
	parallelism int
	errs        []error // while it is built
	tasks       []*task // all of them
	places      map[*place][]*task
	shared      map[any]any     // by node of the graph: what its tasks have in common
	edges       []edge          // exchanges
	parts       []part          // everything in the cut, in the order of registration
	registered  map[string]bool // by name
	checks      []func() error  // asked once all sinks are connected

	// cutting is taken before the locks of the tasks, by whoever takes several: so two of them never wait for each other.
	cutting *lock
	// All below is guarded by the locks of all tasks.
	adopted  bool      // the state is that of a cut
	settling bool      // what was under way is being processed; nothing else runs
	past     *Progress // of the execution before, if there was one

	ctx          context.Context //nolint:containedctx // Context is the context of one run, handed to functions by value.
	sourceFailed atomic.Bool     // a source has ended with an error
	stop         atomic.Bool     // ctx has ended; looked at between records, where ctx.Err would cost more than a small record
}

// edge is an exchange between two places.
type edge struct{ from, to *place }

func newExecution(p *Pipeline, parallelism int) *execution {
	return &execution{
		cfg: p.graph.cfg, pipeline: p, parallelism: parallelism, cutting: newLock(),
		places: make(map[*place][]*task), shared: make(map[any]any), registered: make(map[string]bool),
	}
}

// build connects every sink, and with it all that it needs. Mistakes are in errs.
func (e *execution) build() {
	g := e.pipeline.graph
	for _, s := range g.sinks {
		for _, t := range e.tasksOf(s.at) {
			s.connect(t)
		}
	}
	if len(e.tasks) == 0 { // all sinks were refused
		e.tasksOf(g.head)
	}
	for _, check := range e.checks {
		e.fail(check())
	}
}

// fail keeps an error; the same one of several subtasks once.
func (e *execution) fail(err error) {
	if err == nil || slices.ContainsFunc(e.errs, func(known error) bool { return known.Error() == err.Error() }) {
		return
	}
	e.errs = append(e.errs, err)
}

// tasksOf gives the tasks of a place. There is one of each source at most, so the head has no more tasks than sources.
func (e *execution) tasksOf(at *place) []*task {
	if e.parallelism == 1 {
		at = e.pipeline.graph.head
	}
	if list, ok := e.places[at]; ok {
		return list
	}
	n := e.parallelism
	if at.head {
		n = max(1, min(n, e.pipeline.graph.counts["source"]))
	}
	var list []*task
	for i := range n {
		list = append(list, newTask(e, i, n))
	}
	e.places[at] = list
	e.tasks = append(e.tasks, list...)
	return list
}

// name is what the state of a node of the graph is kept under: its uid, or its kind and number. It is the same in each
// execution of a pipeline, and in each pipeline of the same graph.
func (e *execution) name(node any, kind string) string {
	p := e.pipeline
	if name, ok := p.names[node]; ok {
		return name
	}
	name, ok := p.graph.uids[node]
	if !ok && p.graph.cfg.RequireUIDs && kind != "exchange" { // which those inside a union cannot have
		e.fail(fmt.Errorf("%s-%d keeps state and has no uid (WithUID): %w", kind, p.counts[kind]+1, ErrName))
	}
	if !ok {
		p.counts[kind]++
		name = fmt.Sprintf("%s-%d", kind, p.counts[kind])
	}
	p.names[node] = name
	return name
}

// register adds a part to the cut.
func (e *execution) register(p part) {
	name := p.partName()
	if e.registered[name] {
		e.fail(fmt.Errorf("register state: %q is taken: %w", name, ErrName))
		return
	}
	e.registered[name] = true
	e.parts = append(e.parts, p)
}

// run executes the tasks until the input ends.
func (e *execution) run(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if err := e.open(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { e.stop.Store(true) })()
	var readers, others sync.WaitGroup
	for _, t := range e.tasks {
		for _, s := range t.sources {
			readers.Go(func() { s.read(ctx) })
		}
	}
	var once sync.Once
	var first error // of a task, or why the run was to end
	work := func(t *task) {
		err := errGone
		defer func() {
			if errors.Is(err, errGone) && t.failed != nil {
				err = t.failed
			}
			if err != nil {
				once.Do(func() { first = err })
				cancel(ErrStopped)
			}
		}()
		err = t.loop(ctx)
	}
	for _, t := range e.tasks[1:] {
		others.Go(func() { work(t) })
	}
	work(e.tasks[0])
	others.Wait()
	cancel(ErrStopped)
	readers.Wait()
	if e.sourceFailed.Load() && e.failure() == nil && parent.Err() == nil {
		// The records before the error come before it, however many subtasks they still have to pass.
		if err := e.open(parent); err != nil {
			return err
		}
		if err := e.settle(parent); err != nil {
			return err
		}
	}
	return first
}

// open tells every task the context, and says again what was known at the cut. No source runs yet.
func (e *execution) open(ctx context.Context) error {
	if err := e.acquire(ctx); err != nil {
		return err
	}
	e.ctx = ctx
	adopted := e.adopted
	e.release()
	if !adopted {
		return nil
	}
	for _, t := range e.tasks {
		if err := t.announce(); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long the tasks that are between two records wait for one that is not, before they go on once more; and
// politeness how often they do so, before they wait for good.
const (
	patience   = time.Millisecond
	politeness = 4
)

// acquire takes the locks of all tasks: then every task is between two records. If one does not come to the end of its
// record soon, the others are let go on, and its lock is the first to be taken then.
func (e *execution) acquire(ctx context.Context) error {
	if err := e.cutting.acquire(ctx); err != nil {
		return err
	}
	first := 0
	for round := 0; ; round++ {
		slow, err := e.try(ctx, first, round >= politeness)
		if err != nil {
			e.cutting.release()
			return err
		}
		if slow < 0 {
			return nil
		}
		first = slow
	}
}

// try takes the locks of all tasks, beginning with first, which it waits for. It returns the number of a task that does not
// come to the end of its record, or -1.
func (e *execution) try(ctx context.Context, first int, wait bool) (slow int, err error) {
	n := len(e.tasks)
	for k := range n {
		i := (first + k) % n
		if k == 0 || wait {
			err = e.tasks[i].lock.acquire(ctx)
		} else if !e.tasks[i].lock.acquireWithin(ctx, patience) {
			slow, err = i, errBusy
		}
		if err != nil {
			for ; k > 0; k-- {
				e.tasks[(first+k-1)%n].lock.release()
			}
			if errors.Is(err, errBusy) {
				return slow, context.Cause(ctx)
			}
			return -1, err
		}
	}
	return -1, nil
}

// errGone: a user's function has ended the goroutine that called it.
var errGone = errors.New("function called runtime.Goexit")

// errBusy: a task is inside a record.
var errBusy = errors.New("busy")

// release gives the locks of all tasks up. The tasks go on before the caller does: what it does next, such as encoding a cut, may
// take the processor for long.
func (e *execution) release() {
	for _, t := range e.tasks {
		t.lock.release()
	}
	e.cutting.release()
	runtime.Gosched()
}

// failure is the first error inside a record, after which there is no consistent state.
func (e *execution) failure() error {
	for _, t := range e.tasks {
		if t.failed != nil {
			return t.failed
		}
	}
	return nil
}

// publish makes the counters of all tasks visible.
func (e *execution) publish() {
	for _, t := range e.tasks {
		t.publish()
	}
}
