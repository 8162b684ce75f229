package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// MinWatermark is the watermark before the first record.
const MinWatermark int64 = math.MinInt64

// Generator makes watermarks from the timestamps of the records it is shown. It belongs to one stream.
type Generator interface {
	// Observe sees the timestamp of a record.
	Observe(ts int64)
	// Current is the watermark now: no record at or before it is expected. It never goes back, and is [MinWatermark] before
	// the first record.
	Current() int64
	// Resume continues from a watermark that Current once gave.
	Resume(wm int64)
}

// Strategy makes generators; each stream gets a fresh one.
type Strategy struct {
	// New returns a new generator.
	New func() Generator
	err error
}

// Bounded expects records to be out of order by at most the given time: the watermark is the greatest timestamp so far,
// less that time, less 1 ms. Parts of a millisecond do not count; a negative time is reported by Build.
func Bounded(outOfOrder time.Duration) Strategy {
	delay := outOfOrder.Milliseconds()
	s := Strategy{New: func() Generator { return &bounded{delay: delay, max: MinWatermark} }}
	if outOfOrder < 0 {
		s.err = fmt.Errorf("out-of-orderness of %v: %w", outOfOrder, ErrInvalid)
	}
	return s
}

// Ascending expects timestamps to rise: the watermark is the greatest so far, less 1 ms.
func Ascending() Strategy { return Bounded(0) }

// NoWatermarks never gives a watermark: windows close at the end of the input.
func NoWatermarks() Strategy { return Strategy{New: func() Generator { return silent{} }} }

type bounded struct {
	delay, max int64
}

func (b *bounded) Observe(ts int64) { b.max = max(b.max, ts) }

func (b *bounded) Current() int64 {
	if b.max < MinWatermark+b.delay+1 {
		return MinWatermark
	}
	return b.max - b.delay - 1
}

func (b *bounded) Resume(wm int64) {
	if wm > MinWatermark && wm < MaxWatermark-b.delay {
		b.max = max(b.max, wm+b.delay+1)
	}
}

type silent struct{}

func (silent) Observe(int64)  {}
func (silent) Current() int64 { return MinWatermark }
func (silent) Resume(int64)   {}

// EventTime gives every record the timestamp that f finds in it (nil keeps the one it has), and the stream watermarks. The
// watermark follows the record that raised it, so it depends on the records alone, not on the clock. What watermarks
// the stream had before are replaced. The watermark is part of the cut as "watermark-N".
func EventTime[T any](s Stream[T], f func(T) int64, strategy Strategy) Stream[T] {
	g := s.graph()
	op := g.operator("event-time", "timestamp function failed")
	g.need(op, "strategy", strategy.New != nil)
	g.fail(op.name, strategy.err)
	return newStream(g, func(t *task, out *output[T]) {
		h := &watermarkOp{name: t.name("watermark"), gen: strategy.New(), last: MinWatermark}
		h.publish()
		t.holders = append(t.holders, h)
		t.register(h)
		s.connect(t, &eventTimeOp[T]{task: t, op: op, f: f, watermarkOp: h, out: out})
	})
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
	if err := o.out.record(v, ts); err != nil {
		return err
	}
	o.gen.Observe(ts)
	// The greatest watermark means the end of the input, which only the source can tell.
	if wm := min(o.gen.Current(), MaxWatermark-1); wm > o.last {
		o.last = wm
		return o.out.watermark(wm)
	}
	return nil
}

// watermark passes only the end of the input on.
func (o *eventTimeOp[T]) watermark(wm int64) error {
	if wm != MaxWatermark {
		return nil
	}
	o.last = wm
	return o.out.watermark(wm)
}

// watermarkOp holds a stream's watermark.
type watermarkOp struct {
	name  string
	gen   Generator
	last  int64
	idle  bool // no generator marks a stream idle yet; the flag is part of the format
	shown atomic.Int64
}

func (h *watermarkOp) publish() { h.shown.Store(h.last) }

func (h *watermarkOp) partName() string { return h.name }

func (h *watermarkOp) cut(int64) ([]Item, error) {
	return []Item{bytesItem(h.name, appendWatermark(nil, h.last, h.idle))}, nil
}

func (h *watermarkOp) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(h.name)
	if err != nil {
		return nil, err
	}
	wm, idle, err := decodeWatermark(b)
	if err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: h.name, Content: fmt.Sprintf("watermark %d, idle %t", wm, idle)})
	return func() {
		if mode == Adopt {
			h.last, h.idle = wm, idle
			h.gen.Resume(wm)
		}
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
