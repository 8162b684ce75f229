package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// ErrNoKey is the panic of keyed state that is used outside of a record's function.
var ErrNoKey = errors.New("no current key")

// Reduce combines each record with the result so far of its key, and emits the new result: one output per input. The first
// record of a key is its own result. The results are part of the cut as "store-N.reduce".
func Reduce[K comparable, T any](k KeyedStream[K, T], f func(acc, v T) T) Stream[T] {
	g := k.graph()
	op := g.operator("reduce", "reduce function failed")
	g.need(op, "function", f != nil)
	vals, err := state.CodecOf[T]()
	g.fail(op.name, err)
	s := newStream[T](g, k.origin(), nil)
	s.n.make = func(t *task, out *output[T]) []input {
		table := state.NewTable(t.cfg.MaxParallelism, state.Hasher(k.keys), k.keys, vals)
		store := &store[K, T]{scope: t.scope(t.exec.name(s.n, "store") + ".reduce"), table: table}
		t.exec.register(store)
		return k.connect(t, &reduceOp[K, T]{task: t, op: op, f: f, store: store, relay: relay[T]{out}})
	}
	return s
}

type reduceOp[K comparable, T any] struct {
	task  *task
	op    *operator
	f     func(acc, v T) T
	store *store[K, T]
	relay[T]
	noClock
}

func (o *reduceOp[K, T]) keyed(key K, v T, ts int64) error {
	table := o.store.table
	acc, fresh := table.Upsert(key)
	if !fresh {
		o.task.at = o.op
		epoch := table.Epoch()
		v = o.f(*acc, v)
		if table.Epoch() != epoch { // f has cut, with a Context from further up
			acc, _ = table.Upsert(key)
		}
	}
	*acc = v
	return o.out.record(v, ts)
}

// Number is what Sum adds.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Sum adds up what number finds in the records of each key, and emits the new sum for each record.
func Sum[K comparable, T any, N Number](k KeyedStream[K, T], number func(T) N) Stream[N] {
	k.graph().need(k.op, "number function", number != nil)
	return Process(k, func(op *Keyed[K]) ProcessFunc[K, T, N] {
		sum := ValueOf[N](op, "sum")
		return func(_ Context, _ K, v T, emit func(N)) error {
			n := sum.Get() + number(v)
			sum.Put(n)
			emit(n)
			return nil
		}
	})
}

// ProcessFunc handles one record of a key: it may read and write the state of that key, and emit any number of records with
// the timestamp of this one. emit is valid until it returns; an error ends the run.
type ProcessFunc[K comparable, In, Out any] func(c Context, key K, in In, emit func(Out)) error

// Keyed is an operator with keyed state, while it is set up.
type Keyed[K comparable] struct {
	task  *task
	name  string
	keys  state.Codec[K]
	op    *operator
	key   K
	valid bool // a record is in work, so key is current
	ts    int64
	sides []sidePort
	err   error // the first of what reads a side output
}

// Process applies a function with keyed state to every record. setup is called once per execution, when the graph is built;
// it declares the state ([ValueOf], [Declare], [ListOf], [MapOf], [ReducingOf], [AggregatingOf]) and side outputs ([OutputTo]),
// and returns the function.
func Process[K comparable, In, Out any](k KeyedStream[K, In], setup func(op *Keyed[K]) ProcessFunc[K, In, Out]) Stream[Out] {
	g := k.graph()
	op := g.operator("process", "keyed process function failed")
	g.need(op, "setup function", setup != nil)
	s := newStream[Out](g, k.origin(), nil)
	s.n.make = func(t *task, out *output[Out]) []input {
		t.fenced = true
		keyed := &Keyed[K]{task: t, name: t.exec.name(s.n, "store"), keys: k.keys, op: op}
		f := setup(keyed)
		if f == nil {
			t.exec.fail(fmt.Errorf("%s: function: %w", op.name, ErrNil))
		}
		return k.connect(t, &processOp[K, In, Out]{emitter: newEmitter(t, op, out), keyOf: keyed, f: f})
	}
	return s
}

type processOp[K comparable, In, Out any] struct {
	*emitter[Out]
	noClock
	keyOf *Keyed[K]
	f     ProcessFunc[K, In, Out]
}

func (o *processOp[K, In, Out]) keyed(key K, v In, ts int64) error {
	o.keyOf.key, o.keyOf.valid, o.keyOf.ts = key, true, ts
	o.begin(ts)
	err := o.end(o.f(o.task.context(ts), key, v, o.emit))
	o.keyOf.valid = false
	return cmp.Or(o.keyOf.err, err)
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

// Value is one value per key. It may be used inside the [ProcessFunc] that it was declared for, which sees the value of the
// current key; anywhere else it panics with [ErrNoKey].
type Value[K comparable, V any] struct {
	keyed   *Keyed[K]
	store   *store[K, V]
	vals    state.Codec[V]
	flat    bool
	initial V
}

// ValueOf declares a value of type V per key, under a name that is unique in the operator. It is part of the cut as
// "store-N.name". V must be of a type that [state.CodecOf] accepts.
func ValueOf[V any, K comparable](op *Keyed[K], name string) *Value[K, V] {
	vals, err := state.CodecOf[V]()
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		op.task.exec.fail(fmt.Errorf("value %q of %s: %w", name, op.name, err))
		return &Value[K, V]{keyed: op}
	}
	table := state.NewTable(op.task.cfg.MaxParallelism, state.Hasher(op.keys), op.keys, vals)
	store := &store[K, V]{scope: op.task.scope(op.name + "." + name), table: table}
	v := &Value[K, V]{keyed: op, store: store, vals: vals, flat: vals.Flat()}
	op.task.exec.register(store)
	return v
}

// current is the key of the record in work.
func (v *Value[K, V]) current() K {
	if !v.keyed.valid {
		panic(fmt.Errorf("value %s: %w", v.store.name, ErrNoKey))
	}
	return v.keyed.key
}

// Lookup gives the value of the current key, and whether there is one.
func (v *Value[K, V]) Lookup() (V, bool) {
	if v.flat {
		return v.store.table.Get(v.current())
	}
	// The caller may change what the value refers to, so it must not be part of a cut.
	if p := v.store.table.Ref(v.current()); p != nil {
		return *p, true
	}
	return *new(V), false
}

// Get gives the value of the current key, else the default of its [Descriptor], else the zero value.
func (v *Value[K, V]) Get() V {
	val, ok := v.Lookup()
	if ok {
		return val
	}
	if v.flat {
		return v.initial
	}
	return v.fresh()
}

// fresh is a copy of the default that the caller may change.
func (v *Value[K, V]) fresh() V {
	val, err := v.vals.Clone(&v.initial)
	if err != nil {
		panic(err) // only a marshaller of the user's own can fail
	}
	return val
}

// Put sets the value of the current key. The engine owns what val refers to from here on.
func (v *Value[K, V]) Put(val V) { v.store.table.Put(v.current(), val) }

// Clear removes the value of the current key.
func (v *Value[K, V]) Clear() { v.store.table.Delete(v.current()) }
