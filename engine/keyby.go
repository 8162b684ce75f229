package engine

import (
	"github.com/tidemark-stream/tidemark/engine/state"
)

// KeyedStream is a stream whose records belong to keys. Like [Stream] it is a value and may be used any number of times.
type KeyedStream[K comparable, T any] struct {
	g    *Graph
	n    *keyedNode[K, T]
	op   *operator
	keys state.Codec[K]
}

// keyedNode is what gives records their keys, seen from behind.
type keyedNode[K comparable, T any] struct {
	origin
	make func(t *task, out *keyedOutput[K, T]) []input
}

// KeyBy gives every record a key. Keys must be of a type that [state.CodecOf] accepts. With several subtasks
// ([Graph.SetParallelism]) the records move to the subtask that has their key: those of one key stay in the order in which
// one subtask sends them. T must be of a type that [state.CodecOf] accepts then, since what is under way is part of the cut,
// as "exchange-N".
func KeyBy[K comparable, T any](s Stream[T], key func(T) K) KeyedStream[K, T] {
	g := s.graph()
	op := g.operator("key-by", "key function failed")
	g.need(op, "function", key != nil)
	keys, err := state.CodecOf[K]()
	g.fail(op.name, err)
	k := KeyedStream[K, T]{g: g, op: op, keys: keys, n: &keyedNode[K, T]{origin: s.origin()}}
	k.n.at = &place{}
	k.n.make = func(t *task, out *keyedOutput[K, T]) []input {
		sender := func(u *task, out *keyedOutput[K, T]) []input {
			return s.connect(u, &keyByOp[K, T]{task: u, op: op, key: key, out: out})
		}
		if !t.parallel() {
			return sender(t, out)
		}
		x := exchangeOf(t.exec, exchangeKind[K, T]{
			id: k.n, op: op, keys: keys, from: s.n.at, to: k.n.at, sender: sender,
			router: func(*task) func(K) int {
				hash, owners := state.Hasher(keys), make([]int, t.cfg.MaxParallelism)
				for group := range owners {
					owners[group] = subtaskOf(group, len(owners), t.exec.parallelism)
				}
				return func(key K) int { return owners[state.Group(hash(key), len(owners))] }
			},
		})
		return []input{x.receive(t, out)}
	}
	return k
}

// subtaskOf is the subtask that has a key group: each has a range of groups, and the ranges differ by one group at most
// (Flink's KeyGroupRangeAssignment).
func subtaskOf(group, groups, subtasks int) int { return group * subtasks / groups }

// WithUID names the state of the exchange between subtasks; see [Stream.WithUID].
func (k KeyedStream[K, T]) WithUID(uid string) KeyedStream[K, T] {
	k.graph().identify(k.n, uid)
	return k
}

// graph is that of the stream before; see [Stream.graph].
func (k KeyedStream[K, T]) graph() *Graph {
	if k.g != nil {
		return k.g
	}
	return Stream[T]{}.graph()
}

func (k KeyedStream[K, T]) origin() origin {
	if k.n == nil {
		return origin{at: &place{}}
	}
	return k.n.origin
}

// MapKeyed applies f to every record and keeps its key, so that nothing moves: the state of what follows lies with the same
// subtask.
func MapKeyed[K comparable, In, Out any](k KeyedStream[K, In], f func(key K, v In) Out) KeyedStream[K, Out] {
	g := k.graph()
	op := g.operator("map", "map function failed")
	g.need(op, "function", f != nil)
	return KeyedStream[K, Out]{g: g, op: op, keys: k.keys, n: &keyedNode[K, Out]{
		origin: k.origin(),
		make: func(t *task, out *keyedOutput[K, Out]) []input {
			return k.connect(t, &mapKeyedOp[K, In, Out]{keyedRelay: keyedRelay[K, Out]{out}, task: t, op: op, f: f})
		},
	}}
}

type mapKeyedOp[K comparable, In, Out any] struct {
	keyedRelay[K, Out]
	task *task
	op   *operator
	f    func(K, In) Out
}

func (o *mapKeyedOp[K, In, Out]) keyed(key K, v In, ts int64) error {
	o.task.at = o.op
	return o.out.keyed(key, o.f(key, v), ts)
}

// connect sends the records of k to r, within t.
func (k KeyedStream[K, T]) connect(t *task, r keyedReceiver[K, T]) []input {
	out, ok := t.outputs[k.n].(*keyedOutput[K, T])
	if ok {
		out.add(r)
		return t.reach[k.n]
	}
	out = &keyedOutput[K, T]{}
	out.add(r)
	t.outputs[k.n] = out
	ins := k.n.make(t, out)
	t.reach[k.n] = ins
	return ins
}

// keyedReceiver is an operator that takes records with their keys.
type keyedReceiver[K comparable, T any] interface {
	signals
	keyed(key K, v T, ts int64) error
	// recordTime says that a record at ts is about to come to some subtask, where no watermarks tell the time.
	recordTime(ts int64) error
}

// noRecordTime ignores the time of records.
type noRecordTime struct{}

func (noRecordTime) recordTime(int64) error { return nil }

// keyedOutput is [output] for records with keys.
type keyedOutput[K comparable, T any] struct {
	keyedReceiver[K, T]
	all keyedFanOut[K, T]
}

func (o *keyedOutput[K, T]) add(r keyedReceiver[K, T]) {
	o.all = append(o.all, r)
	o.keyedReceiver = r
	if len(o.all) > 1 {
		o.keyedReceiver = o.all
	}
}

type keyedFanOut[K comparable, T any] []keyedReceiver[K, T]

func (f keyedFanOut[K, T]) keyed(key K, v T, ts int64) error {
	for _, r := range f {
		if err := r.keyed(key, v, ts); err != nil {
			return err
		}
	}
	return nil
}

func (f keyedFanOut[K, T]) each(call func(keyedReceiver[K, T]) error) error {
	for _, r := range f {
		if err := call(r); err != nil {
			return err
		}
	}
	return nil
}

func (f keyedFanOut[K, T]) watermark(wm int64) error {
	return f.each(func(r keyedReceiver[K, T]) error { return r.watermark(wm) })
}

func (f keyedFanOut[K, T]) idle(idle bool) error {
	return f.each(func(r keyedReceiver[K, T]) error { return r.idle(idle) })
}

func (f keyedFanOut[K, T]) recordTime(ts int64) error {
	return f.each(func(r keyedReceiver[K, T]) error { return r.recordTime(ts) })
}

// keyedRelay passes on to the next operator what travels between records.
type keyedRelay[K comparable, Out any] struct {
	out *keyedOutput[K, Out]
}

func (r keyedRelay[K, Out]) watermark(wm int64) error  { return r.out.watermark(wm) }
func (r keyedRelay[K, Out]) idle(idle bool) error      { return r.out.idle(idle) }
func (r keyedRelay[K, Out]) recordTime(ts int64) error { return r.out.recordTime(ts) }

// keyByOp finds the keys.
type keyByOp[K comparable, T any] struct {
	task *task
	op   *operator
	key  func(T) K
	out  *keyedOutput[K, T]
}

func (o *keyByOp[K, T]) record(v T, ts int64) error {
	o.task.at = o.op
	return o.out.keyed(o.key(v), v, ts)
}

func (o *keyByOp[K, T]) watermark(wm int64) error { return o.out.watermark(wm) }
func (o *keyByOp[K, T]) idle(idle bool) error     { return o.out.idle(idle) }
