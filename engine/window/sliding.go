package window

import (
	"fmt"
	"math"
	"time"
)

// SlidingAssigner lays windows of one size over event time, one every slide. Where the slide is shorter than the size they
// overlap; where it is longer there are gaps between them, whose records belong to no window.
type SlidingAssigner struct {
	size, slide, offset int64
}

// Sliding returns windows of the given size that start every slide, from the epoch on (both at least 1 ms, whole
// milliseconds; anything else is reported by Validate, so by Build).
func Sliding(size, slide time.Duration) SlidingAssigner {
	return SlidingAssigner{size: size.Milliseconds(), slide: slide.Milliseconds()}
}

// WithOffset moves the bounds of the windows by offset, which must be smaller than the slide in either direction.
func (s SlidingAssigner) WithOffset(offset time.Duration) SlidingAssigner {
	s.offset = offset.Milliseconds()
	return s
}

// Validate reports a size or slide below 1 ms, and an offset that is not smaller than the slide ([ErrSize]).
func (s SlidingAssigner) Validate() error {
	if s.size <= 0 || s.slide <= 0 {
		return fmt.Errorf("sliding window of %d ms every %d ms: %w", s.size, s.slide, ErrSize)
	}
	if s.offset <= -s.slide || s.offset >= s.slide {
		return fmt.Errorf("sliding window every %d ms with offset %d ms: %w", s.slide, s.offset, ErrSize)
	}
	return nil
}

// Append adds the windows that ts belongs to, the latest start first. Bounds are floors, also before the epoch.
func (s SlidingAssigner) Append(dst []Window, ts int64) []Window {
	last := Tumbling(time.Duration(s.slide) * time.Millisecond)
	last.offset = s.offset
	// The distance from ts does not wrap around where a start does, at the beginning of time.
	for start := last.Assign(ts).Start; ts-start < s.size; start -= s.slide {
		dst = append(dst, Window{Start: start, End: start + s.size})
	}
	return dst
}

// Overlaps says whether a moment may lie in several windows.
func (s SlidingAssigner) Overlaps() bool { return s.slide < s.size }

// Slices gives the windows, one after the other and as long as the slide, that those of s consist of. It says whether they do:
// if the size is a whole number of slides.
func (s SlidingAssigner) Slices() (slices TumblingAssigner, whole bool) {
	return TumblingAssigner{size: s.slide, offset: s.offset}, s.slide > 0 && s.size%s.slide == 0
}

// Merges says whether windows of this assigner grow together. Sliding ones do not.
func (SlidingAssigner) Merges() bool { return false }

// String describes the assigner; it is part of the schema of a window's state.
func (s SlidingAssigner) String() string {
	return fmt.Sprintf("sliding(%d,%d,%d)", s.size, s.slide, s.offset)
}

// SessionAssigner opens a window at every record, which ends a gap after it; windows of a key that intersect grow together.
type SessionAssigner struct {
	gap int64
}

// Session returns windows that end when nothing has come for the gap (whole milliseconds). Two records exactly a gap apart
// are two sessions. A gap of 0 joins records of the same moment only; a negative one is reported by Validate.
func Session(gap time.Duration) SessionAssigner { return SessionAssigner{gap: gap.Milliseconds()} }

// Validate reports a negative gap ([ErrSize]).
func (s SessionAssigner) Validate() error {
	if s.gap < 0 {
		return fmt.Errorf("session window with a gap of %d ms: %w", s.gap, ErrSize)
	}
	return nil
}

// Append adds the window that a record at ts opens: [ts, ts+gap). It ends with time itself where that would be later.
func (s SessionAssigner) Append(dst []Window, ts int64) []Window {
	end := ts + s.gap
	if end < ts {
		end = math.MaxInt64
	}
	return append(dst, Window{Start: ts, End: end})
}

// Merges says whether windows of this assigner grow together. Sessions do.
func (SessionAssigner) Merges() bool { return true }

// String describes the assigner; it is part of the schema of a window's state.
func (s SessionAssigner) String() string { return fmt.Sprintf("session(%d)", s.gap) }
