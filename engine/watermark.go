package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
)

// MinWatermark is the watermark before the first record.
const MinWatermark int64 = math.MinInt64

// EventTime gives every record the timestamp that f finds in it (nil keeps the one it has), and the stream watermarks. The
// watermark follows the record that raised it, so it depends on the records alone, not on the clock. What watermarks
// the stream had before are replaced. The watermark is part of the cut as "watermark-N".
func EventTime[T any](s Stream[T], f func(T) int64, strategy Strategy) Stream[T] {
	g := s.graph()
	op := g.operator("event-time", "timestamp or watermark failed")
	g.need(op, "strategy", strategy.New != nil)
	g.fail(op.name, strategy.err)
	if strategy.idleAfter > 0 && g.cfg.Clock == nil {
		g.fail(op.name, fmt.Errorf("idleness: %w", ErrNoClock))
	}
	e := newStream[T](g, origin{at: s.origin().at, timed: !strategy.silent, sparse: s.origin().sparse}, nil)
	e.n.make = func(t *task, out *output[T]) []input {
		h := &watermarkOp{
			scope: t.scope(t.exec.name(e.n, "watermark")), fresh: strategy.New,
			last: MinWatermark, passed: MinWatermark, idleAfter: strategy.idleAfter, out: out,
		}
		if h.renew(); h.gen == nil {
			t.exec.fail(fmt.Errorf("%s: generator: %w", op.name, ErrNil))
		}
		h.publish()
		h.inputs = s.connect(t, &eventTimeOp[T]{task: t, op: op, f: f, watermarkOp: h, out: out})
		if !allAbsent(h.inputs) {
			h.join(t)
		}
		return h.inputs
	}
	return e
}

type eventTimeOp[T any] struct {
	*watermarkOp
	task *task
	op   *operator
	f    func(T) int64
	out  *output[T]
}

func (o *eventTimeOp[T]) record(v T, ts int64) error {
	if o.f != nil {
		o.task.at = o.op
		ts = o.f(v)
	}
	if o.idleAfter > 0 {
		if err := o.awake(o.task); err != nil {
			return err
		}
	}
	if err := o.out.record(v, ts); err != nil {
		return err
	}
	if o.bounded != nil && ts <= o.bounded.max { // the usual generator, and nothing new
		return nil
	}
	o.task.at = o.op
	o.gen.Observe(ts)
	// The greatest watermark means the end of the input, which only the source can tell.
	if wm := min(o.gen.Current(), MaxWatermark-1); wm > o.last {
		o.last = wm
		if wm > o.passed {
			o.passed = wm
			return o.out.watermark(wm)
		}
	}
	return nil
}

// watermark passes only the end of the input on.
func (o *eventTimeOp[T]) watermark(wm int64) error {
	if wm != MaxWatermark {
		return nil
	}
	o.last, o.passed = wm, wm
	o.asleep, o.told = false, false // What has ended is not idle.
	return o.out.watermark(wm)
}

// idle passes on nothing: whether a stream is idle is the strategy's to say, as its watermarks are.
func (o *eventTimeOp[T]) idle(bool) error { return nil }

// watermarkOp holds a stream's watermark.
type watermarkOp struct {
	scope
	bounded *bounded // gen, if it is one
	fresh   func() Generator
	gen     Generator
	last    int64
	asleep  bool // the stream is idle
	shown   struct {
		last   atomic.Int64
		asleep atomic.Bool
	}

	// What has been passed on. A restore in a running pipeline can take last back, but never this: operators would hear of a
	// time that they have left behind. And it can change asleep, which is passed on when the task comes to it.
	passed int64
	told   bool

	idleAfter int64 // 0: never
	due       int64 // processing time at which the stream is idle if nothing comes
	waiting   bool  // due is set
	inputs    []input
	out       signals
}

// join makes the holder part of its task.
func (h *watermarkOp) join(t *task) {
	t.holders = append(t.holders, h)
	t.exec.register(h)
	t.announcers = append(t.announcers, h)
	if h.idleAfter > 0 {
		t.clocked = append(t.clocked, h)
	}
}

// renew starts a generator that has seen nothing.
func (h *watermarkOp) renew() {
	h.gen = h.fresh()
	h.bounded, _ = h.gen.(*bounded)
}

func (h *watermarkOp) announce() error {
	if err := h.tell(); err != nil {
		return err
	}
	if h.last == MinWatermark {
		return nil
	}
	h.passed = h.last
	return h.out.watermark(h.last)
}

// tell passes on whether the stream is idle.
func (h *watermarkOp) tell() error {
	if h.told == h.asleep {
		return nil
	}
	h.told = h.asleep
	return h.out.idle(h.asleep)
}

// awake notes that a record has come.
func (h *watermarkOp) awake(t *task) error {
	h.due, h.waiting = addTime(t.cfg.Clock(), h.idleAfter), true
	h.asleep = false
	return h.tell()
}

// next is when the stream is idle if nothing comes.
func (h *watermarkOp) next() int64 {
	switch {
	case h.passed == MaxWatermark:
		return math.MaxInt64
	case h.told != h.asleep:
		return math.MinInt64
	case h.asleep:
		return math.MaxInt64
	case !h.waiting:
		return math.MinInt64 // to be told the time
	}
	return h.due
}

// advance marks the stream idle, or as a restore has said. A stream whose records wait, since the task is busy with others, is
// not: it is looked at again a moment later, when they may have come, or may have been those that a filter drops.
func (h *watermarkOp) advance(now int64) error {
	quiet := true
	for _, in := range h.inputs {
		quiet = quiet && in.quiet()
	}
	switch {
	case h.told != h.asleep && !(h.asleep && quiet), !h.waiting:
		h.asleep = h.asleep && quiet
		h.due, h.waiting = addTime(now, h.idleAfter), true
	case quiet:
		h.asleep = true
	default:
		h.due = addTime(now, 1)
	}
	return h.tell()
}

func (h *watermarkOp) publish() {
	h.shown.last.Store(h.last)
	h.shown.asleep.Store(h.asleep)
}

func (h *watermarkOp) cut(int64) ([]Item, error) {
	return []Item{bytesItem(h.partName(), appendWatermark(nil, h.last, h.asleep))}, nil
}

func (h *watermarkOp) load(items *items, mode RestoreMode) (func(), error) {
	last, asleep := MaxWatermark, true
	for _, name := range h.stored(items) {
		b, err := items.take(name)
		if err != nil {
			return nil, err
		}
		wm, idle, err := decodeWatermark(b)
		if err != nil {
			return nil, err
		}
		items.noteOne(Entry{Item: name, Content: fmt.Sprintf("watermark %d, idle %t", wm, idle)})
		last, asleep = min(last, wm), asleep && idle
	}
	return func() {
		if !mode.restoresKeys() {
			return
		}
		h.last, h.asleep = last, asleep
		h.renew()
		h.gen.Resume(last)
	}, nil
}

// appendWatermark writes the item of a watermark: 'W' 1 | value as a signed varint | idle.
func appendWatermark(b []byte, wm int64, idle bool) []byte {
	return appendBool(binary.AppendVarint(append(b, 'W', itemVersion), wm), idle)
}

func decodeWatermark(b []byte) (wm int64, idle bool, err error) {
	d := newDecoder(b, 'W')
	wm, idle = d.varint(), d.bool()
	return wm, idle, d.finish()
}
