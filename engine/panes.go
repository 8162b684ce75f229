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
}

func newWindowOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], fold folding[K, T, Acc, Out], out *output[Out],
) *windowOp[K, T, Acc, Out] {
	hash := state.Hasher(w.k.keys)
	o := &windowOp[K, T, Acc, Out]{
		emitter: newEmitter(t, w.op, out), fold: fold, assigner: w.assigner,
		buckets: buckets[K, Acc]{
			scope: scope, assigner: w.assigner.String(), wm: MinWatermark,
			table: state.NewTable(t.cfg.MaxParallelism, func(b bucketKey[K]) uint64 { return hash(b.Key) }, fold.keys, fold.buckets),
		},
	}
	o.strays = newStrays(t, w.op.name, w.late)
	t.exec.register(o)
	return o
}

func (o *windowOp[K, T, Acc, Out]) keyed(key K, v T, ts int64) error {
	o.task.at = o.op
	o.windows = o.assigner.Append(o.windows[:0], ts)
	if len(o.windows) == 0 {
		o.strays.unplaced()
		return nil
	}
	late := true
	for _, w := range o.windows {
		if w.MaxTimestamp() > o.wm {
			late = false
			o.gather(bucketKey[K]{key, w.Start, w.End}, v, ts)
		}
	}
	if late {
		return o.strays.late(v, ts)
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
		if o.fold.create != nil {
			b.Acc = o.fold.create()
		}
	}
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
	if err := o.out.watermark(wm); err != nil {
		return err
	}
	return o.strays.side.watermark(wm)
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
