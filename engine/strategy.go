package engine

import (
	"fmt"
	"time"
)

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

	silent    bool
	idleAfter int64
	err       error
}

// WithIdleness marks the stream idle when no record has come for d of processing time (whole milliseconds, at least 1), which
// [Config].Clock tells: what waits for several streams, such as a union, does not wait for this one then. Its next record makes
// it active again; if that is behind the watermark by then, it is late. Records that wait in a queue are no silence.
func (s Strategy) WithIdleness(d time.Duration) Strategy {
	s.idleAfter = d.Milliseconds()
	if s.idleAfter <= 0 && s.err == nil {
		s.err = fmt.Errorf("idleness after %v: %w", d, ErrInvalid)
	}
	return s
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
func NoWatermarks() Strategy {
	return Strategy{New: func() Generator { return silent{} }, silent: true}
}

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
