package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// ask prepares a call of the trigger about a bucket, which has the window w.
func (o *triggerOp[K, T, Acc, Out]) ask(w window.Window, b *cell[Acc]) *window.Call {
	c := &o.call
	c.Window, c.EventTime, c.Memory = w, o.now(), b.Memory
	c.WakeEventTime, c.WakeProcessingTime = b.EventTime, b.Processing
	if o.asks {
		c.ProcessingTime = o.task.cfg.Clock()
	}
	return c
}

// answer keeps what the trigger has written in its call. Wakes must be later than after.
func (o *triggerOp[K, T, Acc, Out]) answer(k bucketKey[K], b *cell[Acc], c *window.Call, after int64) error {
	if c.WakeProcessingTime != window.Never && o.task.cfg.Clock == nil {
		return o.task.fault(o.op, fmt.Errorf("trigger %s: %w", o.trigger, ErrNoClock))
	}
	b.Memory = c.Memory
	if c.WakeEventTime == b.EventTime && c.WakeProcessingTime == b.Processing {
		return nil
	}
	w := wake[K]{window: o.windowOf(k, b), seq: b.Seq, kind: wakeAsked, key: k.Key}
	if c.WakeEventTime <= after {
		c.WakeEventTime = window.Never
	}
	if w.at = c.WakeEventTime; w.at != b.EventTime {
		b.EventTime = w.at
		o.events.push(w)
	}
	if w.at = c.WakeProcessingTime; w.at != b.Processing {
		b.Processing = w.at
		o.clock.push(w)
	}
	return nil
}

// apply does what the trigger has decided.
func (o *triggerOp[K, T, Acc, Out]) apply(k bucketKey[K], b *cell[Acc], r window.Result) error {
	if r == window.Continue {
		return nil
	}
	w := o.windowOf(k, b)
	fire := r&window.Fire != 0 && b.N > 0
	acc, last := b.Acc, b.Last
	if r&window.Purge != 0 {
		o.purge(k, b)
	} else if fire {
		b.Shown = o.now() >= w.End
	}
	if !fire {
		return nil
	}
	if r&window.Purge == 0 && !o.vals.Flat() { // the function must not change what stays in the window
		var err error
		if acc, err = o.clone(acc); err != nil {
			return o.task.fault(o.op, err)
		}
	}
	return o.show(k.Key, w, acc, last)
}

// clone copies an accumulator that refers to something. It stands apart, since its argument goes to the heap.
func (o *triggerOp[K, T, Acc, Out]) clone(acc Acc) (Acc, error) { return o.vals.Clone(&acc) }

// show emits a result. The state is up to date before: a cut in a function behind the window is then too.
func (o *triggerOp[K, T, Acc, Out]) show(key K, w window.Window, acc Acc, last int64) error {
	o.begin(last)
	return o.end(o.fold.result(o.task.context(last), key, w, acc, o.emit))
}

// purge empties a bucket, and forgets it if the trigger knows nothing about it either.
func (o *triggerOp[K, T, Acc, Out]) purge(k bucketKey[K], b *cell[Acc]) {
	if b.Memory == (window.Memory{}) && b.EventTime == window.Never && b.Processing == window.Never {
		o.trigger.Clear(o.ask(o.windowOf(k, b), b))
		o.forget(k)
		return
	}
	b.N, b.Shown, b.Acc = 0, false, *new(Acc)
	if o.fold.create != nil {
		b.Acc = o.fold.create()
	}
}
