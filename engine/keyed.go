package engine

import (
	"github.com/tidemark-stream/tidemark/engine/state"
)

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
	noRecordTime
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
