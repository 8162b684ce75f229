package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// WindowedStream is a keyed stream cut into windows of event time.
type WindowedStream[K comparable, T any] struct {
	k        KeyedStream[K, T]
	op       *operator
	assigner window.Assigner
}

// Window places the records of each key in windows by their timestamps. A window is emitted when the watermark reaches its
// last moment ([window.Window.MaxTimestamp]), or at the end of the input; windows by their end, keys of one window in
// the order of their first record. A record whose windows have all been emitted is dropped and counted
// ([Progress].LateDropped).
func Window[K comparable, T any](k KeyedStream[K, T], assigner window.Assigner) WindowedStream[K, T] {
	g := k.s.graph()
	op := g.operator("window", "window function failed")
	g.need(op, "assigner", assigner != nil)
	if assigner != nil {
		g.fail(op.name, assigner.Validate())
	}
	return WindowedStream[K, T]{k: k, op: op, assigner: assigner}
}

// Result is what a window of a key came to.
type Result[K comparable, R any] struct {
	Key    K
	Window window.Window
	Value  R
}

// Aggregation folds the records of one window into an accumulator, so that only the accumulator is kept.
type Aggregation[T, Acc, R any] struct {
	// New gives an empty accumulator; nil means the zero value.
	New func() Acc
	// Add takes in one record and gives the new accumulator. It may change acc itself.
	Add func(acc Acc, v T) Acc
	// Result turns the accumulator into the window's value when the window is emitted.
	Result func(acc Acc) R
}

// Aggregate folds each window of each key. The result carries the latest timestamp among the window's records.
// The accumulators are part of the cut as "window-N"; Acc must be of a type that [state.CodecOf] accepts.
func Aggregate[K comparable, T, Acc, R any](w WindowedStream[K, T], a Aggregation[T, Acc, R]) Stream[Result[K, R]] {
	w.k.s.graph().need(w.op, "aggregation function", a.Add != nil && a.Result != nil)
	return windowed(w, false, a.New, a.Add, func(_ Context, key K, win window.Window, acc Acc, emit func(Result[K, R])) error {
		emit(Result[K, R]{key, win, a.Result(acc)})
		return nil
	})
}

// ReduceWindow combines the records of each window of each key; the first record stands for itself.
func ReduceWindow[K comparable, T any](w WindowedStream[K, T], f func(acc, v T) T) Stream[Result[K, T]] {
	w.k.s.graph().need(w.op, "reduce function", f != nil)
	type reduced struct {
		Some  bool
		Value T
	}
	return Aggregate(w, Aggregation[T, reduced, T]{
		Add: func(acc reduced, v T) reduced {
			if acc.Some {
				v = f(acc.Value, v)
			}
			return reduced{true, v}
		},
		Result: func(acc reduced) T { return acc.Value },
	})
}

// CountWindow counts the records of each window of each key.
func CountWindow[K comparable, T any](w WindowedStream[K, T]) Stream[Result[K, int64]] {
	return Aggregate(w, Aggregation[T, int64, int64]{
		Add:    func(n int64, _ T) int64 { return n + 1 },
		Result: func(n int64) int64 { return n },
	})
}

// ApplyWindow keeps the records of each window and hands them all to f, in the order in which they came. f may emit any
// number of records; an error ends the run.
func ApplyWindow[K comparable, T, Out any](
	w WindowedStream[K, T], f func(c Context, key K, win window.Window, elements []T, emit func(Out)) error,
) Stream[Out] {
	w.k.s.graph().need(w.op, "function", f != nil)
	return windowed(w, true, nil, func(acc []T, v T) []T { return append(acc, v) }, f)
}

// windowed builds the operator behind all of the above; fenced says that a function of the user's gets the Context.
func windowed[K comparable, T, Acc, Out any](
	w WindowedStream[K, T], fenced bool, create func() Acc, add func(Acc, T) Acc,
	result func(Context, K, window.Window, Acc, func(Out)) error,
) Stream[Out] {
	g := w.k.s.graph()
	keys, err := state.CodecOf[bucketKey[K]]()
	g.fail(w.op.name, err)
	vals, err := state.CodecOf[bucket[Acc]]()
	g.fail(w.op.name, err)
	return newStream(g, func(t *task, out *output[Out]) {
		t.fenced = t.fenced || fenced
		hash := state.Hasher(w.k.keys)
		o := &windowOp[K, T, Acc, Out]{
			emitter: newEmitter(t, w.op, out), k: w.k, create: create, add: add, result: result, assigner: w.assigner,
			buckets: buckets[K, Acc]{
				name: t.name("window"), assigner: w.assigner.String(), wm: MinWatermark,
				table: state.NewTable(t.cfg.MaxParallelism, func(b bucketKey[K]) uint64 { return hash(b.Key) }, keys, vals),
			},
		}
		t.register(o)
		w.k.s.connect(t, o)
	})
}

// windowOp gathers records in buckets and emits those that the watermark has passed.
type windowOp[K comparable, T, Acc, Out any] struct {
	*emitter[Out]
	buckets[K, Acc]
	k        KeyedStream[K, T]
	create   func() Acc
	add      func(Acc, T) Acc
	result   func(Context, K, window.Window, Acc, func(Out)) error
	assigner window.Assigner
	windows  []window.Window // scratch
}

func (o *windowOp[K, T, Acc, Out]) record(v T, ts int64) error {
	key := o.k.of(o.task, v)
	o.task.at = o.op
	o.windows = o.assigner.Append(o.windows[:0], ts)
	late := true
	for _, w := range o.windows {
		if w.MaxTimestamp() > o.wm {
			late = false
			o.gather(bucketKey[K]{key, w.Start, w.End}, v, ts)
		}
	}
	if late {
		o.task.late++
	}
	return nil
}

// gather adds v to a bucket.
func (o *windowOp[K, T, Acc, Out]) gather(k bucketKey[K], v T, ts int64) {
	b, fresh := o.table.Upsert(k)
	if fresh {
		b.Seq, b.Last = o.seq, ts
		o.seq++
		o.remember(k)
		if o.create != nil {
			b.Acc = o.create()
		}
	}
	epoch := o.table.Epoch()
	acc := o.add(b.Acc, v)
	if o.table.Epoch() != epoch { // add has cut, with a Context from further up
		b, _ = o.table.Upsert(k)
	}
	b.Acc, b.Last = acc, max(b.Last, ts)
}

func (o *windowOp[K, T, Acc, Out]) watermark(wm int64) error {
	if wm < o.wm {
		return nil
	}
	o.wm = wm
	for len(o.open) > 0 && o.open[0].MaxTimestamp() <= wm {
		p := o.open[0]
		o.open[0] = pane[K]{}
		o.open = o.open[1:]
		for _, key := range p.keys {
			if err := o.fire(bucketKey[K]{key, p.Start, p.End}); err != nil {
				return err
			}
		}
		o.spare = p.keys[:0]
	}
	return o.out.watermark(wm)
}

// fire emits one bucket. The bucket goes first: a cut inside a function behind the window then does not have it too.
func (o *windowOp[K, T, Acc, Out]) fire(k bucketKey[K]) error {
	b, ok := o.table.Take(k)
	if !ok {
		return fmt.Errorf("bucket %v of %s is gone: %w", k, o.name, ErrCorrupt)
	}
	o.begin(b.Last)
	return o.end(o.result(o.task.context(b.Last), k.Key, window.Window{Start: k.Start, End: k.End}, b.Acc, o.emit))
}
