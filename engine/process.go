package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// ProcessFunc handles one record of a key: it may read and write the state of that key, and emit any number of records with
// the timestamp of this one. emit is valid until it returns; an error ends the run.
type ProcessFunc[K comparable, In, Out any] func(c Context, key K, in In, emit func(Out)) error

// Keyed is an operator with keyed state, while it is set up.
type Keyed[K comparable] struct {
	task  *task
	name  string
	keys  state.Codec[K]
	op    *operator
	place *place
	timed bool // watermarks tell the time
	key   K
	valid bool // a record or timer is in work, so key is current
	ts    int64
	// call is what the function runs for.
	call  callKind
	sides []sidePort
	err   error // the first of what reads a side output

	sealed  bool       // the setup function has returned
	timers  *Timers[K] // nil without
	onTimer any        // TimerFunc
	timely  bool       // it follows the time
	times   standIns
}

// ErrSealed is the panic of state, a timer function or a side output that is declared after the setup function of its operator
// has returned: it would be in no cut that the same graph can restore.
var ErrSealed = errors.New("declared outside of the setup function")

// declare checks that the operator is being set up.
func (op *Keyed[K]) declare(what string) {
	if op.sealed {
		panic(fmt.Errorf("%s of %s: %w", what, op.name, ErrSealed))
	}
}

// callKind is what a function with keyed state is called for.
type callKind uint8

const (
	recordCall callKind = iota
	eventTimer
	processingTimer
)

// Process applies a function with keyed state to every record. setup is called once per subtask, when the graph is built (and
// once more where a cut of another number of subtasks is restored); it declares the state ([ValueOf], [Declare], [ListOf],
// [MapOf], [ReducingOf], [AggregatingOf]), timers ([Keyed.Timers], [OnTimer]) and side outputs ([OutputTo]), and returns the
// function. Variables that setup makes belong to one subtask; what lies outside is shared by all.
func Process[K comparable, In, Out any](k KeyedStream[K, In], setup func(op *Keyed[K]) ProcessFunc[K, In, Out]) Stream[Out] {
	g := k.graph()
	op := g.operator("process", "keyed process function failed")
	timerOp := &operator{name: op.name, what: "keyed process timer callback failed"}
	g.need(op, "setup function", setup != nil)
	s := newStream[Out](g, k.origin(), nil)
	s.n.make = func(t *task, out *output[Out]) []input {
		t.fenced = true
		keyed := &Keyed[K]{task: t, name: t.exec.name(s.n, "store"), keys: k.keys, op: op, place: s.n.at, timed: s.n.timed}
		f := setup(keyed)
		keyed.sealed = true
		if f == nil {
			t.exec.fail(fmt.Errorf("%s: function: %w", op.name, ErrNil))
		}
		if !keyed.timely {
			return k.connect(t, &processOp[K, In, Out]{emitter: newEmitter(t, op, out), keyOf: keyed, f: f})
		}
		o := &timelyOp[K, In, Out]{processOp: processOp[K, In, Out]{emitter: newEmitter(t, op, out), keyOf: keyed, f: f}, timerOp: timerOp}
		t.exec.fail(o.prepare())
		return k.connect(t, o)
	}
	return s
}

type processOp[K comparable, In, Out any] struct {
	*emitter[Out]
	noRecordTime
	keyOf *Keyed[K]
	f     ProcessFunc[K, In, Out]
}

func (o *processOp[K, In, Out]) keyed(key K, v In, ts int64) error {
	k := o.keyOf
	k.key, k.valid, k.ts = key, true, ts
	o.begin(ts)
	err := o.end(o.f(o.task.context(ts), key, v, o.emit))
	k.valid = false
	return cmp.Or(k.err, err)
}

func (o *processOp[K, In, Out]) watermark(wm int64) error {
	if err := o.out.watermark(wm); err != nil {
		return err
	}
	for _, s := range o.keyOf.sides {
		if err := s.watermark(wm); err != nil {
			return err
		}
	}
	return nil
}

func (o *processOp[K, In, Out]) idle(idle bool) error {
	if err := o.out.idle(idle); err != nil {
		return err
	}
	for _, s := range o.keyOf.sides {
		if err := s.idle(idle); err != nil {
			return err
		}
	}
	return nil
}
