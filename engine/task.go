package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// chunk is how many records are processed before the space they took is given back to the source, and counters are
// published. Between any two of them a cut may be taken.
const chunk = 256

// publishEvery is how many records may pass before [Pipeline.Progress] shows them.
const publishEvery = 32

// task is one execution of a graph: one goroutine that owns all operators, and what the cut consists of.
type task struct {
	cfg     Config
	errs    []error     // while it is built
	outputs map[any]any // by *node: *output of the same type
	inputs  []input     // sources, in the order of their first consumption
	sinks   []sinkPart  // sinks with something to write or commit
	parts   []part      // everything in the cut, in the order of registration
	names   map[string]bool
	counts  map[string]int
	holders []*watermarkOp
	strays  []strayCounts
	clocked []clocked
	ports   map[any]any    // by *SideOutput: *port of the same type
	checks  []func() error // asked once all sinks are connected

	lock   *lock
	wake   chan struct{} // see ring.wake
	parked atomic.Bool
	stop   atomic.Bool // ctx has ended; looked at between records, where ctx.Err would cost more than a small record

	// All below is guarded by the checkpoint lock.
	ctx    context.Context //nolint:containedctx // Context is the context of one run, handed to functions by value.
	at     *operator       // whose function runs; for panics
	cur    position        // of the record in work
	seq    uint64          // number of the fence
	fenced bool            // some function gets a Context
	held   bool            // the pipeline goroutine has the lock
	failed error
	// adopted says that the state is that of a cut.
	adopted bool
	out     int64
	late    int64

	fence    atomic.Uint64 // seq while a record is in work, else 0
	progress struct{ out, late atomic.Int64 }
}

// position is where a record came from.
type position struct {
	source string
	record int64
	offset int64
}

// input is a source of a task, whatever the type of its records.
type input interface {
	part
	// read runs the source until it ends; it is called on a goroutine of its own.
	read(ctx context.Context)
	// ready says whether drain or finish would do something.
	ready() bool
	// drain processes up to a chunk of waiting records under the lock.
	drain(t *task) error
	// finish flushes what follows the source once it has ended and been drained; it reports the source's own error.
	finish(t *task) (done bool, err error)
	publish()
	progress() SourceProgress
}

func newTask(cfg Config) *task {
	return &task{
		cfg: cfg, lock: newLock(), wake: make(chan struct{}, 1),
		outputs: make(map[any]any), ports: make(map[any]any), names: make(map[string]bool), counts: make(map[string]int),
	}
}

// run reads all sources to their end.
func (t *task) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := t.open(ctx); err != nil {
		return errors.Join(err, t.close())
	}
	defer context.AfterFunc(ctx, func() { t.stop.Store(true) })()
	var readers sync.WaitGroup
	for _, in := range t.inputs {
		readers.Go(func() { in.read(ctx) })
	}
	err = t.loop(ctx)
	cancel(ErrStopped)
	readers.Wait()
	return errors.Join(err, t.close())
}

// open prepares the sinks. No source runs yet.
func (t *task) open(ctx context.Context) error {
	if err := t.enter(ctx); err != nil {
		return err
	}
	t.ctx = ctx
	t.leave()
	for _, s := range t.sinks {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close writes out what the sinks still hold in memory.
func (t *task) close() error {
	var errs []error
	for _, s := range t.sinks {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// loop processes records as they come until every source has been finished.
func (t *task) loop(ctx context.Context) error {
	live := append([]input(nil), t.inputs...)
	for len(live) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left := live[:0]
		for _, in := range live {
			done, err := t.turn(in)
			if err != nil {
				return err
			}
			if !done {
				left = append(left, in)
			}
		}
		live = left
		if len(live) > 0 {
			if err := t.idleTick(); err != nil {
				return err
			}
		}
		t.park(ctx, live)
	}
	return nil
}

// turn gives one source its chance, and lets the sinks write.
func (t *task) turn(in input) (done bool, err error) {
	if in.ready() {
		if err := in.drain(t); err != nil {
			return false, err
		}
		if done, err = in.finish(t); err != nil {
			return false, err
		}
	}
	return done, t.flush()
}

// park waits until a source has something, or ctx ends.
func (t *task) park(ctx context.Context, live []input) {
	t.parked.Store(true)
	defer t.parked.Store(false)
	for _, in := range live {
		if in.ready() {
			return
		}
	}
	if len(live) == 0 {
		return
	}
	due, stop := t.alarm()
	defer stop()
	select {
	case <-t.wake:
	case <-due:
	case <-ctx.Done():
	}
}

// enter takes the checkpoint lock for the pipeline goroutine.
func (t *task) enter(ctx context.Context) error {
	if err := t.lock.acquire(ctx); err != nil {
		return err
	}
	t.held = true
	return nil
}

// leave publishes the counters and gives the lock up. It does nothing if the lock is not held.
func (t *task) leave() {
	if !t.held {
		return
	}
	t.publish()
	t.held = false
	t.fence.Store(0)
	t.lock.release()
}

// begin marks the start of one record's body.
func (t *task) begin(p position) {
	t.cur = p
	if t.fenced {
		t.seq++
		t.fence.Store(t.seq)
	}
}

// between is called between two records: it lets a waiting cut through, and full sinks write, outside the lock.
func (t *task) between() error {
	if t.stop.Load() {
		return context.Cause(t.ctx)
	}
	if !t.lock.wanted() && !t.sinksFull() {
		return nil
	}
	t.leave()
	if err := t.flush(); err != nil {
		return err
	}
	return t.enter(t.ctx)
}

func (t *task) sinksFull() bool {
	for _, s := range t.sinks {
		if s.full() {
			return true
		}
	}
	return false
}

// flush lets every sink with much in memory write it. Never under the lock.
func (t *task) flush() error {
	for _, s := range t.sinks {
		if !s.full() {
			continue
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	return nil
}

// protect runs f under the lock and turns its panic into an error. After an error the task's state is that of an
// unfinished record, so no cut is taken of it any more.
func (t *task) protect(f func() error) (err error) {
	if err := t.enter(t.ctx); err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = t.fault(t.at, &PanicError{Value: v, Stack: debug.Stack()})
		}
		if err != nil && t.held {
			t.failed = err
		}
		t.leave()
	}()
	return f()
}

// fault names operator and record of an error of a user's function.
func (t *task) fault(op *operator, err error) error {
	return &OperatorError{
		Operator: op.name, What: op.what, Err: err,
		Source: t.cur.source, Record: t.cur.record, Offset: t.cur.offset,
	}
}

// context is what the function of the record in work gets.
func (t *task) context(ts int64) Context { return Context{task: t, seq: t.seq, ts: ts} }

// inside says whether c belongs to the record in work, so that its owner holds the lock.
func (t *task) inside(c Context) bool { return c.task == t && c.seq != 0 && t.fence.Load() == c.seq }

// publish makes the counters visible to Progress.
func (t *task) publish() {
	t.progress.out.Store(t.out)
	t.progress.late.Store(t.late)
	for _, in := range t.inputs {
		in.publish()
	}
	for _, h := range t.holders {
		h.publish()
	}
	for _, s := range t.strays {
		s.publish()
	}
}
