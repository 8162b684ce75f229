package engine

import (
	"fmt"
	"math"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// triggerOp is the window operator for all that [windowOp] is too simple for: triggers, lateness, and windows that merge.
type triggerOp[K comparable, T, Acc, Out any] struct {
	*emitter[Out]
	cells[K, Acc]
	noRecordTime
	fold     folding[K, T, Acc, Out]
	assigner window.Assigner
	trigger  window.Trigger
	strays   *strays[T]
	vals     state.Codec[Acc]
	hash     func(K) uint64
	plain    bool            // the trigger has nothing to say about a record before the window's end
	asks     bool            // the trigger looks at the clock
	windows  []window.Window // scratch
	hits     []session       // scratch
	call     window.Call     // scratch
}

func newTriggerOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], fold folding[K, T, Acc, Out], out *output[Out],
) *triggerOp[K, T, Acc, Out] {
	hash := state.Hasher(w.k.keys)
	o := &triggerOp[K, T, Acc, Out]{
		emitter: newEmitter(t, w.op, out), fold: fold, assigner: w.assigner, trigger: w.trigger,
		cells: cells[K, Acc]{
			scope: scope, merges: w.assigner.Merges(), lateness: w.lateness, wm: MinWatermark,
			kind:  fmt.Sprintf("%s %s lateness(%d)", w.assigner, w.trigger, w.lateness),
			table: state.NewTable(t.cfg.MaxParallelism, func(b bucketKey[K]) uint64 { return hash(b.Key) }, fold.keys, fold.cells),
		},
		vals: fold.accs, hash: hash, plain: w.trigger == window.OnEventTime(),
		asks: t.cfg.Clock != nil && window.ReadsProcessingTime(w.trigger),
		call: window.Call{Lateness: w.lateness},
	}
	o.strays = newStrays(t, w.op.name, w.late)
	t.exec.register(o)
	if t.cfg.Clock != nil {
		t.clocked = append(t.clocked, o)
	}
	return o
}

func (o *triggerOp[K, T, Acc, Out]) keyed(key K, v T, ts int64) error {
	o.task.at = o.op
	o.windows = o.assigner.Append(o.windows[:0], ts)
	if len(o.windows) == 0 {
		o.strays.unplaced()
		return nil
	}
	all, hash := true, o.hash(key)
	for _, w := range o.windows {
		late, err := o.place(hash, key, w, v, ts)
		if err != nil {
			return err
		}
		all = all && late
	}
	if all {
		return o.strays.late(v, ts)
	}
	// A trigger may have asked for a time that has passed. So nothing is due between two records, or when a watermark is said
	// again after a restore.
	return o.attendDue()
}

// place adds v to one of its windows, and says whether it came too late for it.
func (o *triggerOp[K, T, Acc, Out]) place(hash uint64, key K, w window.Window, v T, ts int64) (late bool, err error) {
	if o.merges {
		return o.merged(hash, key, w, v, ts)
	}
	if o.expiry(w) <= o.now() {
		return true, nil
	}
	k := bucketKey[K]{key, w.Start, w.End}
	b, fresh := o.table.UpsertHashed(hash, k)
	if fresh {
		o.open(k, b, w)
	}
	return false, o.gather(k, b, v, ts)
}

// gather adds v to a bucket and asks the trigger.
func (o *triggerOp[K, T, Acc, Out]) gather(k bucketKey[K], b *cell[Acc], v T, ts int64) error {
	epoch := o.table.Epoch()
	acc := o.fold.add(b.Acc, v)
	if o.table.Epoch() != epoch { // add has cut, with a Context from further up
		b = o.table.Ref(k)
	}
	b.Acc, b.Shown = acc, false
	if b.N == 0 {
		b.Last = ts
	}
	b.Last = max(b.Last, ts)
	b.N++
	w := o.windowOf(k, b)
	if o.plain && o.now() < w.End {
		return nil
	}
	c := o.ask(w, b)
	r := o.trigger.OnElement(c, ts)
	if err := o.answer(k, b, c, math.MinInt64); err != nil {
		return err
	}
	return o.apply(k, b, r)
}

// open starts a new bucket.
func (o *triggerOp[K, T, Acc, Out]) open(k bucketKey[K], b *cell[Acc], w window.Window) {
	*b = cell[Acc]{Seq: o.seq, Ended: o.now() >= w.End, EventTime: window.Never, Processing: window.Never}
	o.seq++
	if o.merges {
		b.Window = w
	}
	if o.fold.create != nil {
		b.Acc = o.fold.create()
	}
	o.scheduleEnd(k, b)
}

func (o *triggerOp[K, T, Acc, Out]) watermark(wm int64) error {
	if wm < o.wm {
		return nil
	}
	o.wm = wm
	if err := o.attendDue(); err != nil {
		return err
	}
	if err := o.out.watermark(wm); err != nil {
		return err
	}
	return o.strays.side.watermark(wm)
}

func (o *triggerOp[K, T, Acc, Out]) idle(idle bool) error {
	if err := o.out.idle(idle); err != nil {
		return err
	}
	return o.strays.side.idle(idle)
}

// attendDue gives every bucket what it wants by now.
func (o *triggerOp[K, T, Acc, Out]) attendDue() error {
	for len(o.events.heap) > 0 && o.events.heap[0].at <= o.now() {
		o.task.at = o.op
		if err := o.attend(o.events.pop()); err != nil {
			return err
		}
	}
	return nil
}

// attend gives a bucket what it wants at one moment of event time.
func (o *triggerOp[K, T, Acc, Out]) attend(e wake[K]) error {
	k, b := o.find(e)
	if b == nil {
		return nil
	}
	at, valid := o.wanted(e, k, b)
	if !valid {
		return nil
	}
	w := o.windowOf(k, b)
	if at != e.at || w != e.window {
		e.at, e.window = at, w
		o.events.push(e) // in its true place
		return nil
	}
	if e.kind == wakeExpiry {
		return o.expire(k, b)
	}
	ended := b.Ended
	if err := o.reach(k, b, e.at); err != nil {
		return err
	}
	if b = o.table.Ref(k); b == nil || b.Seq != e.seq || b.Ended == ended {
		return nil
	}
	if e.at = o.expiry(w); e.at > w.End {
		e.kind = wakeExpiry
		o.events.push(e)
		return nil
	}
	return o.expire(k, b)
}

// wanted says at which moment what e stands for is to happen, if it still is. At the end of the input nothing that triggers
// have asked for is: one that always wants to be woken again must not hold up the end.
func (o *triggerOp[K, T, Acc, Out]) wanted(e wake[K], k bucketKey[K], b *cell[Acc]) (at int64, valid bool) {
	switch e.kind {
	case wakeAsked:
		return e.at, b.EventTime == e.at && o.wm != MaxWatermark
	case wakeEnd:
		return o.windowOf(k, b).End, !b.Ended
	default:
		return e.at, b.Ended && o.expiry(o.windowOf(k, b)) == e.at
	}
}

// expire forgets a bucket, and emits what has not been shown since the window's end.
func (o *triggerOp[K, T, Acc, Out]) expire(k bucketKey[K], b *cell[Acc]) error {
	w := o.windowOf(k, b)
	if !o.plain {
		o.trigger.Clear(o.ask(w, b))
	}
	left := *b
	o.forget(k)
	if left.N == 0 || left.Shown {
		return nil
	}
	return o.show(k.Key, w, left.Acc, left.Last)
}

// reach tells the trigger that event time has come to at.
func (o *triggerOp[K, T, Acc, Out]) reach(k bucketKey[K], b *cell[Acc], at int64) error {
	w := o.windowOf(k, b)
	b.Ended = b.Ended || at >= w.End
	if b.EventTime <= at {
		b.EventTime = window.Never
	}
	c := o.ask(w, b)
	r := o.trigger.OnEventTime(c, at)
	if o.wm == MaxWatermark {
		c.WakeEventTime = window.Never
	}
	if err := o.answer(k, b, c, at); err != nil {
		return err
	}
	return o.apply(k, b, r)
}

func (o *triggerOp[K, T, Acc, Out]) next() int64 { return o.clock.next() }

// advance tells the trigger of every bucket that is due.
func (o *triggerOp[K, T, Acc, Out]) advance(now int64) error {
	for len(o.clock.heap) > 0 && o.clock.next() <= now {
		e := o.clock.pop()
		k, b := o.find(e)
		if b == nil || b.Processing != e.at {
			continue
		}
		w := o.windowOf(k, b)
		if w != e.window {
			e.window = w
			o.clock.push(e)
			continue
		}
		o.task.at = o.op
		b.Processing = window.Never
		c := o.ask(w, b)
		r := o.trigger.OnProcessingTime(c, e.at)
		if c.WakeProcessingTime <= e.at {
			c.WakeProcessingTime = window.Never
		}
		if err := o.answer(k, b, c, math.MinInt64); err != nil {
			return err
		}
		if err := o.apply(k, b, r); err != nil {
			return err
		}
	}
	return nil
}
