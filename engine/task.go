package engine

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// chunk is how many records are processed before the space they took is given back to the source, and counters are
// published. Between any two of them a cut may be taken.
const chunk = 256

// publishEvery is how many records may pass before [Pipeline.Progress] shows them.
const publishEvery = 32

// task executes one subtask of one place of the graph: one goroutine that owns all operators there.
type task struct {
	cfg        Config
	exec       *execution
	index, of  int             // which subtask of its place, from 0, and how many there are
	outputs    map[any]any     // by node: *output or *keyedOutput of its type
	reach      map[any][]input // by node: the inputs that reach it
	inputs     []input         // sources and gates, in the order of their first consumption
	sources    []sourcePart    // those of inputs that are sources
	outward    []outward       // ends of exchanges
	sinks      []sinkPart      // sinks with something to write
	holders    []*watermarkOp
	announcers []announcer
	strays     []strayCounts
	clocked    []clocked
	ports      map[any]any // by *SideOutput: *port of the same type

	lock *lock // the task's share of the checkpoint lock
	bell *bell

	// All below is guarded by the lock.
	at       *operator   // whose function runs; for panics
	cur      position    // of the record in work
	seq      uint64      // number of the fence
	fenced   bool        // some function gets a Context with every record
	opened   bool        // the record in work has a fence
	held     bool        // the task's goroutine has the lock
	gathered int         // elements in the outboxes
	handed   bool        // the outboxes have been handed over since; the goroutine's own
	clockErr error       // the clock has failed between two records; the goroutine's own
	timer    *time.Timer // of alarm; the goroutine's own
	failed   error
	out      int64
	late     int64

	fence    atomic.Uint64 // seq while a record is in work, else 0
	due      atomic.Int64  // when one of clocked is due, as far as was known when the lock was given up
	progress struct{ out, late atomic.Int64 }
}

// position is where a record came from.
type position struct {
	number uint16 // of the source, from 1; 0 when there is no record
	record int64
	offset int64
}

// input is where a task's records come from, whatever their type: a source or a gate.
type input interface {
	// ready says whether drain or finish would do something.
	ready() bool
	// drain processes up to a chunk of waiting records under the lock.
	drain(t *task) error
	// finish flushes what follows the input once it has ended and been drained; it reports a source's own error.
	finish(t *task) (done bool, err error)
	// quiet says that nothing has been there for some time, nor is now.
	quiet() bool
	// absent says that nothing will ever come: the source is another task's.
	absent() bool
	// settle processes what was under way at the cut, before anything runs.
	settle(t *task) error
}

// announcer says again what it has passed on before the cut that was adopted, so that all behind it know.
type announcer interface{ announce() error }

func newTask(e *execution, index, of int) *task {
	t := &task{
		cfg: e.cfg, exec: e, index: index, of: of, lock: newLock(), bell: newBell(),
		outputs: make(map[any]any), reach: make(map[any][]input), ports: make(map[any]any),
	}
	t.due.Store(math.MinInt64) // to be found out
	return t
}

// parallel says whether there are other subtasks.
func (t *task) parallel() bool { return t.exec.parallelism > 1 }

func (t *task) addInput(in input) {
	t.inputs = append(t.inputs, in)
	if s, ok := in.(sourcePart); ok {
		t.sources = append(t.sources, s)
	}
}

// loop processes records as they come until every input has been finished.
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
			if err := t.flush(); err != nil {
				return err
			}
		}
		t.park(ctx, live)
	}
	return nil
}

// turn gives one input its chance, and lets what it gave go on.
func (t *task) turn(in input) (done bool, err error) {
	if in.ready() {
		if err := in.drain(t); err != nil {
			return false, err
		}
	}
	if done, err = in.finish(t); err != nil {
		return false, err
	}
	return done, t.flush()
}

// park waits until an input has something, or ctx ends.
func (t *task) park(ctx context.Context, live []input) {
	t.bell.parked.Store(true)
	defer t.bell.parked.Store(false)
	for _, in := range live {
		if in.ready() {
			return
		}
	}
	if len(live) == 0 || t.sinksFull() {
		return
	}
	due := t.alarm()
	defer t.silence()
	select {
	case <-t.bell.wake:
	case <-due:
	case <-ctx.Done():
	}
}

// fault names operator and record of an error of a user's function.
func (t *task) fault(op *operator, err error) error {
	e := &OperatorError{Operator: op.name, What: op.what, Err: err, Record: t.cur.record, Offset: t.cur.offset}
	if t.cur.number > 0 {
		e.Source = t.exec.pipeline.sourceName(t.cur.number)
	}
	if t.of > 1 {
		e.Subtask, e.Subtasks = t.index, t.of
	}
	return e
}

// publish makes the counters visible to Progress.
func (t *task) publish() {
	t.progress.out.Store(t.out)
	t.progress.late.Store(t.late)
	for _, s := range t.sources {
		s.publish()
	}
	for _, h := range t.holders {
		h.publish()
	}
	for _, s := range t.strays {
		s.publish()
	}
	if len(t.clocked) > 0 {
		t.publishDue()
	}
}
