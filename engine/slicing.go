package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// slicedOp is the window operator for windows that overlap and consist of whole slices:
//
//	slices   |  2  |     |  1  |  4  |     one bucket for each key: a record is added once
//	windows  [=======2=========)           put together when they are emitted
//	               [=======5=========)
//
// What comes too late for some windows of its slice counts in the others, since those have been emitted.
type slicedOp[K comparable, T, Acc, Out any] struct {
	windowOp[K, T, Acc, Out] // of the slices
	size                     int64

	// The window that is being emitted, and what is still to come of it.
	emitted window.Window
	left    []total[K, Acc]

	// half are what was left of a window at the cut that was adopted, in the order of emission.
	half []bucketKey[K]

	totals []total[K, Acc] // scratch
	places map[K]int       // scratch: where a key is among totals
}

// total is what a window of a key comes to.
type total[K comparable, Acc any] struct {
	key K
	bucket[Acc]
}

// sliceable says whether windows can be put together of slices: there are some that overlap, accumulators can be merged and
// stay as they are while they are, and == tells keys apart.
func sliceable[K comparable, T, Acc, Out any](w WindowedStream[K, T], f folding[K, T, Acc, Out]) (window.TumblingAssigner, bool) {
	a, ok := w.assigner.(window.SlidingAssigner)
	if !ok || !a.Overlaps() || f.merge == nil || !f.accs.Flat() || !w.k.keys.Exact() {
		return window.TumblingAssigner{}, false
	}
	return a.Slices()
}

func newSlicedOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], slice window.TumblingAssigner, fold folding[K, T, Acc, Out], out *output[Out],
) *slicedOp[K, T, Acc, Out] {
	o := &slicedOp[K, T, Acc, Out]{places: make(map[K]int)}
	o.windowOp = makeWindowOp(t, scope, w, fold, out)
	o.kind += " in slices"
	o.assigner, o.single = slice, true
	first := w.assigner.Append(nil, 0)[0]
	o.size = first.Size()
	o.reach = o.size - slice.Assign(0).Size()
	t.exec.register(o)
	return o
}

func (o *slicedOp[K, T, Acc, Out]) keyed(key K, v T, ts int64) error {
	if ts > math.MaxInt64-o.size || ts < math.MinInt64+o.size { // some window would reach beyond the ends of time
		o.strays.unplaced()
		return nil
	}
	return o.windowOp.keyed(key, v, ts)
}

func (o *slicedOp[K, T, Acc, Out]) watermark(wm int64) error {
	if wm < o.wm {
		return nil
	}
	if wm >= o.due {
		if err := o.release(wm); err != nil {
			return err
		}
	}
	o.wm = wm
	return o.pass(wm)
}

// release emits the windows up to a watermark. Meanwhile that of the operator is the one that the window in work has waited
// for: a cut then tells which windows have been emitted.
func (o *slicedOp[K, T, Acc, Out]) release(wm int64) error {
	o.task.at = o.op
	o.recent = recent[K, Acc]{}
	if err := o.finishHalf(); err != nil {
		return err
	}
	for o.due = o.nextDue(); o.due <= wm && len(o.open) > 0; o.due = o.nextDue() {
		w := window.Window{Start: o.due + 1 - o.size, End: o.due + 1}
		o.sumUp(w)
		o.wm, o.emitted, o.left = o.due, w, o.totals
		o.drop(w.Start)
		if err := o.emitLeft(); err != nil {
			return err
		}
	}
	return nil
}

// nextDue is the last moment of the first window that has something and has not been emitted.
func (o *slicedOp[K, T, Acc, Out]) nextDue() int64 {
	if len(o.open) == 0 {
		return window.Never
	}
	first := o.open[0]
	due := first.MaxTimestamp()
	if due <= o.wm {
		due += ((o.wm-due)/first.Size() + 1) * first.Size()
	}
	return due
}

// sumUp puts the slices of a window together, key by key in the order of their first record in any of them. No bucket is
// changed: a cut in Merge finds what was there before.
func (o *slicedOp[K, T, Acc, Out]) sumUp(w window.Window) {
	o.totals = o.totals[:0]
	clear(o.places)
	sorted := true
	for i := 0; i < len(o.open) && o.open[i].Start < w.End; i++ {
		s := &o.open[i]
		for _, key := range s.keys {
			b, _ := o.table.GetHashed(o.hash(key), bucketKey[K]{key, s.Start, s.End})
			at, again := o.places[key]
			if again {
				t := &o.totals[at]
				sorted = sorted && t.Seq < b.Seq
				t.Seq, t.Last, t.Acc = min(t.Seq, b.Seq), max(t.Last, b.Last), o.fold.merge(t.Acc, b.Acc)
				continue
			}
			n := len(o.totals)
			sorted = sorted && (n == 0 || o.totals[n-1].Seq < b.Seq)
			o.places[key] = n
			o.totals = append(o.totals, total[K, Acc]{key, b})
		}
	}
	if !sorted {
		slices.SortFunc(o.totals, func(a, b total[K, Acc]) int { return cmp.Compare(a.Seq, b.Seq) })
	}
}

// drop forgets the slice that starts there, which no further window has.
func (o *slicedOp[K, T, Acc, Out]) drop(start int64) {
	if o.open[0].Start != start {
		return
	}
	s := o.next()
	for _, key := range s.keys {
		o.table.TakeHashed(o.hash(key), bucketKey[K]{key, s.Start, s.End})
	}
	o.spare = s.keys[:0]
}

// emitLeft emits what is left of the window in work. Each total goes first: see [windowOp.fire].
func (o *slicedOp[K, T, Acc, Out]) emitLeft() error {
	for len(o.left) > 0 {
		t := o.left[0]
		o.left = o.left[1:]
		o.begin(t.Last)
		if err := o.end(o.fold.result(o.task.context(t.Last), t.key, o.emitted, t.Acc, o.emit)); err != nil {
			return err
		}
	}
	return nil
}
