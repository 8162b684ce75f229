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
			kind:     fmt.Sprintf("%s %s lateness(%d)", w.assigner, w.trigger, w.lateness),
			sessions: make(map[K][]session),
			table:    state.NewTable(t.cfg.MaxParallelism, func(b bucketKey[K]) uint64 { return hash(b.Key) }, fold.keys, fold.cells),
		},
		vals: fold.accs,
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
	late := true
	for _, w := range o.windows {
		if o.merges {
			w = o.cover(key, w)
		}
		if o.expiry(w) <= o.now() {
			continue
		}
		late = false
		if o.merges {
			o.merge(key, w)
		}
		if err := o.gather(bucketKey[K]{key, w.Start, w.End}, v, ts); err != nil {
			return err
		}
	}
	if late {
		return o.strays.late(v, ts)
	}
	return nil
}

// gather adds v to a bucket and asks the trigger.
func (o *triggerOp[K, T, Acc, Out]) gather(k bucketKey[K], v T, ts int64) error {
	b, fresh := o.table.Upsert(k)
	if fresh {
		o.open(k, b)
	}
	epoch := o.table.Epoch()
	acc := o.fold.add(b.Acc, v)
	if o.table.Epoch() != epoch { // add has cut, with a Context from further up
		b, _ = o.table.Upsert(k)
	}
	b.Acc, b.Shown = acc, false
	if b.N == 0 {
		b.Last = ts
	}
	b.Last = max(b.Last, ts)
	b.N++
	c := o.ask(k, b)
	r := o.trigger.OnElement(c, ts)
	if err := o.answer(k, c, math.MinInt64); err != nil {
		return err
	}
	return o.apply(k, r)
}

// open starts a new bucket.
func (o *triggerOp[K, T, Acc, Out]) open(k bucketKey[K], b *cell[Acc]) {
	w := k.window()
	*b = cell[Acc]{Seq: o.seq, Ended: o.now() >= w.End, EventTime: window.Never, Processing: window.Never}
	o.seq++
	if o.fold.create != nil {
		b.Acc = o.fold.create()
	}
	o.scheduleEnd(k, b)
	if o.merges {
		o.sessions[k.Key] = append(o.sessions[k.Key], session{w, b.Seq})
	}
}

func (o *triggerOp[K, T, Acc, Out]) watermark(wm int64) error {
	if wm < o.wm {
		return nil
	}
	// A watermark that is said again, after a restore, fires nothing: what is due waits for time to go on, as it would have.
	if wm > o.wm {
		o.wm = wm
		if err := o.attendAll(); err != nil {
			return err
		}
	}
	if err := o.out.watermark(wm); err != nil {
		return err
	}
	return o.strays.side.watermark(wm)
}

// attendAll gives every bucket what is due.
func (o *triggerOp[K, T, Acc, Out]) attendAll() error {
	o.task.at = o.op
	for len(o.events.heap) > 0 && o.events.next() <= o.now() {
		if err := o.attend(o.events.pop()); err != nil {
			return err
		}
		o.task.at = o.op
	}
	return nil
}

func (o *triggerOp[K, T, Acc, Out]) idle(idle bool) error {
	if err := o.out.idle(idle); err != nil {
		return err
	}
	return o.strays.side.idle(idle)
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
	if w := k.window(); at != e.at || w != e.window {
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
	if e.at = o.expiry(e.window); e.at > e.window.End {
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
		return k.End, !b.Ended
	default:
		return e.at, b.Ended && o.expiry(k.window()) == e.at
	}
}

// expire forgets a bucket, and emits what has not been shown since the window's end.
func (o *triggerOp[K, T, Acc, Out]) expire(k bucketKey[K], b *cell[Acc]) error {
	o.trigger.Clear(o.ask(k, b))
	left := *b
	o.forget(k)
	if left.N == 0 || left.Shown {
		return nil
	}
	return o.show(k, left.Acc, left.Last)
}

// reach tells the trigger that event time has come to at.
func (o *triggerOp[K, T, Acc, Out]) reach(k bucketKey[K], b *cell[Acc], at int64) error {
	b.Ended = b.Ended || at >= k.End
	if b.EventTime <= at {
		b.EventTime = window.Never
	}
	c := o.ask(k, b)
	r := o.trigger.OnEventTime(c, at)
	if o.wm == MaxWatermark {
		c.WakeEventTime = window.Never
	}
	if err := o.answer(k, c, at); err != nil {
		return err
	}
	return o.apply(k, r)
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
		if w := k.window(); w != e.window {
			e.window = w
			o.clock.push(e)
			continue
		}
		o.task.at = o.op
		b.Processing = window.Never
		c := o.ask(k, b)
		r := o.trigger.OnProcessingTime(c, e.at)
		if c.WakeProcessingTime <= e.at {
			c.WakeProcessingTime = window.Never
		}
		if err := o.answer(k, c, math.MinInt64); err != nil {
			return err
		}
		if err := o.apply(k, r); err != nil {
			return err
		}
	}
	return nil
}
