package engine

import (
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// WindowedStream is a keyed stream cut into windows, of event time if nothing else is said. It is a value: the With methods return another.
type WindowedStream[K comparable, T any] struct {
	k        KeyedStream[K, T]
	op       *operator
	assigner window.Assigner
	trigger  window.Trigger
	custom   bool // the trigger is not the plain event-time trigger
	lateness int64
	late     *SideOutput[T]
	present  bool // windows of processing time
}

// Window places the records of each key in windows by their timestamps. A window is emitted when the watermark reaches its
// last moment ([window.Window.MaxTimestamp]), or at the end of the input; windows by their end, keys of one window in
// the order of their first record. A record whose windows have all been emitted is dropped and counted
// ([Progress].LateDropped, [Progress].Windows). [WindowedStream.WithTrigger], [WindowedStream.WithLateness] and
// [WindowedStream.WithLateOutput] change that.
func Window[K comparable, T any](k KeyedStream[K, T], assigner window.Assigner) WindowedStream[K, T] {
	g := k.graph()
	op := g.operator("window", "window function failed")
	g.need(op, "assigner", assigner != nil)
	if assigner != nil {
		g.fail(op.name, assigner.Validate())
	}
	w := WindowedStream[K, T]{k: k, op: op, assigner: assigner}
	if assigner != nil {
		w.trigger = window.DefaultTrigger(assigner)
		w.custom = w.trigger != window.OnEventTime()
	}
	return w
}

// WithTrigger lets t decide when windows are emitted, instead of the assigner's own trigger. What a window holds when it
// ends for good, or when the input ends, is emitted then, unless it has been emitted since the window's end.
func (w WindowedStream[K, T]) WithTrigger(t window.Trigger) WindowedStream[K, T] {
	g := w.k.graph()
	g.need(w.op, "trigger", t != nil)
	if t == nil {
		return w
	}
	g.fail(w.op.title(), window.ValidateTrigger(t))
	if window.UsesProcessingTime(t) && g.cfg.Clock == nil {
		g.fail(w.op.title(), fmt.Errorf("trigger %s: %w", t, ErrNoClock))
	}
	w.trigger, w.custom = t, true
	return w
}

// WithLateness keeps windows for d of event time after their end (whole milliseconds, 0 or more). A record that comes in
// that time is added, and the window is emitted again as a whole; under [window.Purging], as what is new in it.
func (w WindowedStream[K, T]) WithLateness(d time.Duration) WindowedStream[K, T] {
	if d < 0 {
		w.k.graph().fail(w.op.title(), fmt.Errorf("lateness of %v: %w", d, ErrInvalid))
	}
	w.lateness = d.Milliseconds()
	return w
}

// WithLateOutput sends records that are too late to tag instead of dropping them, if anybody reads it ([Side]). A tag serves
// one result of the windows: two aggregations of w need two tags.
func (w WindowedStream[K, T]) WithLateOutput(tag *SideOutput[T]) WindowedStream[K, T] {
	w.k.graph().need(w.op, "late output", tag != nil)
	w.late = tag
	return w
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
	// Merge combines the accumulators of two windows of a key that have grown together, that of the older one first. Assigners
	// that merge need it. Windows that overlap use it to take in each record once: see [Aggregate].
	Merge func(older, newer Acc) Acc
}

// Aggregate folds each window of each key. The result carries the latest timestamp among the window's records.
// The accumulators are part of the cut as "window-N"; Acc must be of a type that [state.CodecOf] accepts.
//
// Windows that slide by a part of their size are put together of slices as long as the slide, which needs a Merge, and an Acc
// without slices, maps and pointers. So there Merge must come to what adding the records one by one does, whatever their
// order between slices. Without Merge each record is added to every window that it belongs to, in the order of arrival.
func Aggregate[K comparable, T, Acc, R any](w WindowedStream[K, T], a Aggregation[T, Acc, R]) Stream[Result[K, R]] {
	w.k.graph().need(w.op, "aggregation function", a.Add != nil && a.Result != nil)
	return windowed(w, folding[K, T, Acc, Result[K, R]]{
		create: a.New, add: a.Add, merge: a.Merge,
		result: func(_ Context, key K, win window.Window, acc Acc, emit func(Result[K, R])) error {
			emit(Result[K, R]{key, win, a.Result(acc)})
			return nil
		},
	})
}

// ReduceWindow combines the records of each window of each key; the first record stands for itself. Where windows grow
// together, or overlap (see [Aggregate]), f combines what their parts have come to.
func ReduceWindow[K comparable, T any](w WindowedStream[K, T], f func(acc, v T) T) Stream[Result[K, T]] {
	w.k.graph().need(w.op, "reduce function", f != nil)
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
		Merge:  func(a, b reduced) reduced { return reduced{true, f(a.Value, b.Value)} },
	})
}

// CountWindow counts the records of each window of each key.
func CountWindow[K comparable, T any](w WindowedStream[K, T]) Stream[Result[K, int64]] {
	return Aggregate(w, Aggregation[T, int64, int64]{
		Add:    func(n int64, _ T) int64 { return n + 1 },
		Result: func(n int64) int64 { return n },
		Merge:  func(a, b int64) int64 { return a + b },
	})
}

// ApplyWindow keeps the records of each window and hands them all to f, in the order in which they came; where windows
// have grown together, those of the older one first. f may emit any number of records; an error ends the run. The elements
// are f's own to keep, unless T refers to something that it shares.
func ApplyWindow[K comparable, T, Out any](
	w WindowedStream[K, T], f func(c Context, key K, win window.Window, elements []T, emit func(Out)) error,
) Stream[Out] {
	w.k.graph().need(w.op, "function", f != nil)
	return windowed(w, folding[K, T, []T, Out]{
		add:    func(acc []T, v T) []T { return append(acc, v) },
		merge:  func(a, b []T) []T { return append(a, b...) },
		result: f,
	})
}

// folding is what becomes of the records of a window.
type folding[K comparable, T, Acc, Out any] struct {
	create func() Acc
	add    func(Acc, T) Acc
	merge  func(older, newer Acc) Acc
	result func(Context, K, window.Window, Acc, func(Out)) error

	keys    state.Codec[bucketKey[K]]
	accs    state.Codec[Acc]
	buckets state.Codec[bucket[Acc]]
	cells   state.Codec[cell[Acc]]
}

// compile finds the codecs.
func (f *folding[K, T, Acc, Out]) compile() (err error) {
	if f.keys, err = state.CodecOf[bucketKey[K]](); err != nil {
		return err
	}
	if f.accs, err = state.CodecOf[Acc](); err != nil {
		return err
	}
	if f.buckets, err = state.CodecOf[bucket[Acc]](); err != nil {
		return err
	}
	f.cells, err = state.CodecOf[cell[Acc]]()
	return err
}

// windowed builds the operator behind all of the above.
func windowed[K comparable, T, Acc, Out any](w WindowedStream[K, T], f folding[K, T, Acc, Out]) Stream[Out] {
	g := w.k.graph()
	g.fail(w.op.title(), f.compile())
	merges := w.assigner != nil && w.assigner.Merges()
	g.need(w.op, "merge function", f.merge != nil || !merges)
	g.fail(w.op.title(), w.presentable())
	from := w.k.origin()
	from.sparse = true
	s := newStream[Out](g, from, nil)
	s.n.make = func(t *task, out *output[Out]) []input {
		scope := t.scope(t.exec.name(s.n, "window"))
		if w.present {
			return w.k.connect(t, newPresentOp(t, scope, w, f, out))
		}
		if merges || w.custom || w.lateness > 0 {
			return w.k.connect(t, newTriggerOp(t, scope, w, f, out))
		}
		if slice, ok := sliceable(w, f); ok {
			return w.k.connect(t, newSlicedOp(t, scope, w, slice, f, out))
		}
		return w.k.connect(t, newWindowOp(t, scope, w, f, out))
	}
	return s
}
