package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// windowOp gathers records in buckets and emits those that the watermark has passed. It is the fast way for windows that
// stay as they are and are emitted once.
type windowOp[K comparable, T, Acc, Out any] struct {
	*emitter[Out]
	buckets[K, Acc]
	noRecordTime
	fold     folding[K, T, Acc, Out]
	assigner window.Assigner
	strays   *strays[T]
	windows  []window.Window // scratch
	hash     func(K) uint64
	single   bool  // a moment lies in one window at most
	exact    bool  // == tells keys apart
	reach    int64 // for how long after its end a bucket is needed, in milliseconds
	recent   recent[K, Acc]
}

// recent is the bucket of the last record, where each has but one: the next often belongs to the same window, and where keys
// are hot to the same bucket. It is forgotten when a window is emitted, so what it holds is open and in its place.
type recent[K comparable, Acc any] struct {
	window.Window
	key    K
	bucket *bucket[Acc] // nil: the window alone
	epoch  uint64       // of the table when bucket was found
}

func newWindowOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], fold folding[K, T, Acc, Out], out *output[Out],
) *windowOp[K, T, Acc, Out] {
	o := makeWindowOp(t, scope, w, fold, out)
	t.exec.register(&o)
	return &o
}

// makeWindowOp makes an operator that is not part of the cut yet.
func makeWindowOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], fold folding[K, T, Acc, Out], out *output[Out],
) windowOp[K, T, Acc, Out] {
	hash := state.Hasher(w.k.keys)
	return windowOp[K, T, Acc, Out]{
		emitter: newEmitter(t, w.op, out), fold: fold, assigner: w.assigner,
		hash: hash, single: apart(w.assigner), exact: w.k.keys.Exact(),
		buckets: buckets[K, Acc]{
			scope: scope, kind: w.assigner.String(), wm: MinWatermark, due: window.Never,
			table: state.NewTable(t.cfg.MaxParallelism, func(b bucketKey[K]) uint64 { return hash(b.Key) }, fold.keys, fold.buckets),
		},
		strays: newStrays(t, w.op.name, w.late),
	}
}

// apart says whether no two windows of an assigner share a moment.
func apart(a window.Assigner) bool {
	switch a := a.(type) {
	case window.TumblingAssigner, window.GlobalAssigner:
		return true
	case window.SlidingAssigner:
		return !a.Overlaps()
	}
	return false
}

func (o *windowOp[K, T, Acc, Out]) keyed(key K, v T, ts int64) error { return o.place(key, v, ts, ts) }

// place adds a record with timestamp ts to the windows of a moment.
func (o *windowOp[K, T, Acc, Out]) place(key K, v T, at, ts int64) error {
	o.task.at = o.op
	if r := &o.recent; r.Contains(at) {
		k := bucketKey[K]{key, r.Start, r.End}
		if r.bucket != nil && r.key == key && r.epoch == o.table.Epoch() {
			o.add(r.bucket, k, v, ts)
		} else {
			o.gather(o.hash(key), k, v, ts)
		}
		return nil
	}
	o.windows = o.assigner.Append(o.windows[:0], at)
	if len(o.windows) == 0 {
		o.strays.unplaced()
		return nil
	}
	late, hash := true, o.hash(key)
	for _, w := range o.windows {
		if w.MaxTimestamp()+o.reach > o.wm {
			late = false
			o.gather(hash, bucketKey[K]{key, w.Start, w.End}, v, ts)
		}
	}
	if late {
		return o.strays.late(v, ts)
	}
	return nil
}

// gather finds the bucket of v.
func (o *windowOp[K, T, Acc, Out]) gather(hash uint64, k bucketKey[K], v T, ts int64) {
	b, fresh := o.table.UpsertHashed(hash, k)
	if fresh {
		b.Seq, b.Last = o.seq, ts
		o.seq++
		o.remember(k)
		if o.fold.create != nil {
			b.Acc = o.fold.create()
		}
	}
	if o.single {
		o.recent = recent[K, Acc]{Window: k.window(), key: k.Key, epoch: o.table.Epoch()}
		if o.exact {
			o.recent.bucket = b
		}
	}
	o.add(b, k, v, ts)
}

// add adds v to a bucket.
func (o *windowOp[K, T, Acc, Out]) add(b *bucket[Acc], k bucketKey[K], v T, ts int64) {
	epoch := o.table.Epoch()
	acc := o.fold.add(b.Acc, v)
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
	if wm >= o.due {
		if err := o.release(); err != nil {
			return err
		}
	}
	return o.pass(wm)
}

// pass hands a watermark on.
func (o *windowOp[K, T, Acc, Out]) pass(wm int64) error {
	if err := o.out.watermark(wm); err != nil {
		return err
	}
	return o.strays.side.watermark(wm)
}

// release emits the windows that the watermark has passed.
func (o *windowOp[K, T, Acc, Out]) release() error {
	o.recent = recent[K, Acc]{}
	for len(o.open) > 0 && o.open[0].MaxTimestamp() <= o.wm {
		p := o.next()
		for _, key := range p.keys {
			if err := o.fire(bucketKey[K]{key, p.Start, p.End}); err != nil {
				return err
			}
		}
		o.spare = p.keys[:0]
	}
	return nil
}

func (o *windowOp[K, T, Acc, Out]) idle(idle bool) error {
	if err := o.out.idle(idle); err != nil {
		return err
	}
	return o.strays.side.idle(idle)
}

// fire emits one bucket. The bucket goes first: a cut inside a function behind the window then does not have it too.
func (o *windowOp[K, T, Acc, Out]) fire(k bucketKey[K]) error {
	b, ok := o.table.Take(k)
	if !ok {
		return fmt.Errorf("bucket %v of %s is gone: %w", k, o.name, ErrCorrupt)
	}
	o.begin(b.Last)
	return o.end(o.fold.result(o.task.context(b.Last), k.Key, k.window(), b.Acc, o.emit))
}
