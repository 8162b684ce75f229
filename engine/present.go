package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// presentOp is the window operator for processing time: the clock says when a record comes, and when a window is over. So no
// record is late, and watermarks only pass through.
type presentOp[K comparable, T, Acc, Out any] struct {
	windowOp[K, T, Acc, Out] // its watermark is that of the clock: every window up to there has been emitted
}

func newPresentOp[K comparable, T, Acc, Out any](
	t *task, scope scope, w WindowedStream[K, T], fold folding[K, T, Acc, Out], out *output[Out],
) *presentOp[K, T, Acc, Out] {
	o := &presentOp[K, T, Acc, Out]{makeWindowOp(t, scope, w, fold, out)}
	o.kind += " in processing time"
	t.exec.register(o)
	t.clocked = append(t.clocked, o)
	return o
}

// InProcessingTime places records by [Config].Clock at the moment when they are added, instead of by their timestamps, and
// emits a window when the clock has reached its end, whether records come or not. What is open at the end of the input is
// emitted then. Results have the latest timestamp among their records, as always. Should the clock go back, records belong to
// the first window that has not been emitted.
//
// It goes with assigners whose windows stay as they are, and without a trigger, lateness or late output; anything else is
// reported by Build, as is a graph without a clock ([ErrNoClock]).
func (w WindowedStream[K, T]) InProcessingTime() WindowedStream[K, T] {
	w.present = true
	return w
}

// presentable checks that what is asked for goes with processing time.
func (w WindowedStream[K, T]) presentable() error {
	switch {
	case !w.present || w.assigner == nil:
		return nil
	case w.k.graph().cfg.Clock == nil:
		return fmt.Errorf("windows in processing time: %w", ErrNoClock)
	case w.assigner.Merges():
		return fmt.Errorf("windows of %s in processing time: %w", w.assigner, ErrInvalid)
	case w.custom:
		return fmt.Errorf("windows in processing time with trigger %s: %w", w.trigger, ErrInvalid)
	case w.lateness > 0 || w.late != nil:
		return fmt.Errorf("windows in processing time with lateness or a late output, where nothing is late: %w", ErrInvalid)
	}
	return nil
}

func (o *presentOp[K, T, Acc, Out]) keyed(key K, v T, ts int64) error {
	return o.place(key, v, max(o.task.cfg.Clock(), addTime(o.wm, 1)), ts)
}

func (o *presentOp[K, T, Acc, Out]) watermark(wm int64) error {
	if wm == MaxWatermark {
		o.wm = wm
		if err := o.release(); err != nil {
			return err
		}
	}
	return o.pass(wm)
}

func (o *presentOp[K, T, Acc, Out]) next() int64 {
	if o.due == window.Never {
		return window.Never
	}
	return o.due + 1
}

func (o *presentOp[K, T, Acc, Out]) advance(now int64) error {
	o.wm = now - 1 // which is past the end of a window that had not been emitted
	return o.release()
}
