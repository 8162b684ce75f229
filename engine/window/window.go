package window

import (
	"errors"
	"fmt"
	"time"
)

// Window is the span of event time [Start, End), in milliseconds.
type Window struct {
	Start, End int64
}

// Contains says whether ts lies in the window.
func (w Window) Contains(ts int64) bool { return w.Start <= ts && ts < w.End }

// MaxTimestamp is the last moment of the window, End-1. The window is complete when the watermark reaches it.
func (w Window) MaxTimestamp() int64 { return w.End - 1 }

// Size is the length of the window, in milliseconds.
func (w Window) Size() int64 { return w.End - w.Start }

// Intersects says whether the two windows share a moment. Windows that only touch do not.
func (w Window) Intersects(o Window) bool { return w.Start < o.End && o.Start < w.End }

// Cover is the smallest window that covers both.
func (w Window) Cover(o Window) Window {
	return Window{Start: min(w.Start, o.Start), End: max(w.End, o.End)}
}

// String shows both bounds: "[0-100]".
func (w Window) String() string { return fmt.Sprintf("[%d-%d]", w.Start, w.End) }

// ErrSize is in the chain of the error of an assigner's Validate.
var ErrSize = errors.New("invalid window size")

// TumblingAssigner cuts event time into windows of one size that follow each other without gap or overlap.
type TumblingAssigner struct {
	size, offset int64
}

// Tumbling returns windows of the given size (at least 1 ms, whole milliseconds) that start at the epoch and its
// multiples. A size that is not positive is reported by Validate, so by Build.
func Tumbling(size time.Duration) TumblingAssigner {
	return TumblingAssigner{size: size.Milliseconds()}
}

// WithOffset moves the bounds of the windows by offset: 24 h windows with an offset of -8 h start at 16:00 UTC. It must
// be smaller than the size in either direction.
func (t TumblingAssigner) WithOffset(offset time.Duration) TumblingAssigner {
	t.offset = offset.Milliseconds()
	return t
}

// Validate reports a size below 1 ms, and an offset that is not smaller than the size ([ErrSize]).
func (t TumblingAssigner) Validate() error {
	if t.size <= 0 {
		return fmt.Errorf("tumbling window of %d ms: %w", t.size, ErrSize)
	}
	if t.offset <= -t.size || t.offset >= t.size {
		return fmt.Errorf("tumbling window of %d ms with offset %d ms: %w", t.size, t.offset, ErrSize)
	}
	return nil
}

// Assign returns the window that ts belongs to. Bounds are floors, also before the epoch: with a size of 1 s, -500 lies
// in [-1000, 0).
func (t TumblingAssigner) Assign(ts int64) Window {
	rem := (ts - t.offset) % t.size
	if rem < 0 {
		rem += t.size
	}
	start := ts - rem
	return Window{Start: start, End: start + t.size}
}

// Merges says whether windows of this assigner grow together where they intersect. Tumbling ones do not.
func (TumblingAssigner) Merges() bool { return false }

// String describes the assigner; it is part of the schema of a window's state.
func (t TumblingAssigner) String() string {
	return fmt.Sprintf("tumbling(%d,%d)", t.size, t.offset)
}

// Assigner places a moment in its windows.
type Assigner interface {
	// Validate reports sizes that make no sense ([ErrSize]). A graph calls it when it is built.
	Validate() error
	// Append adds the windows that ts belongs to.
	Append(dst []Window, ts int64) []Window
	// Merges says whether windows that intersect grow together.
	Merges() bool
	// String describes the assigner in full: state of another description is refused on restore.
	String() string
}

// Append adds the one window that ts belongs to.
func (t TumblingAssigner) Append(dst []Window, ts int64) []Window {
	return append(dst, t.Assign(ts))
}
