package window_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/window"
)

func TestTumblingAssign(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name         string
		size, offset time.Duration
		ts           int64
		want         window.Window
	}{
		{"in the middle", 1000 * ms, 0, 5500, window.Window{Start: 5000, End: 6000}},
		{"just before a bound", 1000 * ms, 0, 999, window.Window{Start: 0, End: 1000}},
		{"at a bound", 1000 * ms, 0, 1000, window.Window{Start: 1000, End: 2000}},
		{"at the epoch", 1000 * ms, 0, 0, window.Window{Start: 0, End: 1000}},
		{"before the epoch", 1000 * ms, 0, -500, window.Window{Start: -1000, End: 0}},
		{"at a bound before the epoch", 1000 * ms, 0, -1000, window.Window{Start: -1000, End: 0}},
		{"one minute", time.Minute, 0, 90000, window.Window{Start: 60000, End: 120000}},
		{"one hour", time.Hour, 0, 91_800_000, window.Window{Start: 90_000_000, End: 93_600_000}},
		{"one millisecond", ms, 0, 7, window.Window{Start: 7, End: 8}},
		{"with an offset", 1000 * ms, 250 * ms, 1249, window.Window{Start: 250, End: 1250}},
		{"with a negative offset", 1000 * ms, -250 * ms, -251, window.Window{Start: -1250, End: -250}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := window.Tumbling(c.size).WithOffset(c.offset).Assign(c.ts); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestEveryMomentLiesInItsWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.Int64Range(1, 1e9).Draw(rt, "size")
		offset := rapid.Int64Range(1-size, size-1).Draw(rt, "offset")
		ts := rapid.Int64Range(-1e15, 1e15).Draw(rt, "ts")
		a := window.Tumbling(time.Duration(size) * time.Millisecond).WithOffset(time.Duration(offset) * time.Millisecond)
		if err := a.Validate(); err != nil {
			rt.Fatal(err)
		}
		w := a.Assign(ts)
		if !w.Contains(ts) || w.Size() != size || (w.Start-offset)%size != 0 {
			rt.Fatalf("%d in %v", ts, w)
		}
		if a.Assign(w.MaxTimestamp()) != w || a.Assign(w.End) == w {
			rt.Fatalf("bounds of %v", w)
		}
	})
}

func TestSizesThatMakeNoSenseAreRefused(t *testing.T) {
	for name, a := range map[string]window.TumblingAssigner{
		"zero": window.Tumbling(0), "negative": window.Tumbling(-time.Second), "below a millisecond": window.Tumbling(time.Microsecond),
		"offset of a whole size": window.Tumbling(time.Second).WithOffset(time.Second),
	} {
		if err := a.Validate(); !errors.Is(err, window.ErrSize) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWindowRelations(t *testing.T) {
	w := func(a, b int64) window.Window { return window.Window{Start: a, End: b} }
	if w := w(1000, 5000); !w.Contains(1000) || !w.Contains(4999) || w.Contains(999) || w.Contains(5000) || w.MaxTimestamp() != 4999 || w.Size() != 4000 {
		t.Error("bounds of", w)
	}
	if w(5, 5).Contains(5) {
		t.Error("an empty window contains something")
	}
	for _, c := range []struct {
		a, b, cover window.Window
		intersect   bool
	}{
		{w(0, 100), w(50, 150), w(0, 150), true},
		{w(0, 100), w(100, 200), w(0, 200), false},
		{w(0, 100), w(200, 300), w(0, 300), false},
		{w(0, 100), w(20, 30), w(0, 100), true},
		{w(0, 100), w(0, 100), w(0, 100), true},
	} {
		if c.a.Intersects(c.b) != c.intersect || c.b.Intersects(c.a) != c.intersect || c.a.Cover(c.b) != c.cover || c.b.Cover(c.a) != c.cover {
			t.Error(c)
		}
	}
	if got := w(0, 100).String(); got != "[0-100]" {
		t.Error(got)
	}
}

// Bounds that are negative, or at the ends of time, compare and hash like any other.
func TestBoundsToTheEndsOfTime(t *testing.T) {
	all := window.Window{Start: math.MinInt64, End: math.MaxInt64}
	for ts, in := range map[int64]bool{math.MinInt64: true, -1: true, 0: true, math.MaxInt64 - 1: true, math.MaxInt64: false} {
		if all.Contains(ts) != in {
			t.Errorf("%d in %v: %t", ts, all, !in)
		}
	}
	before := window.Window{Start: -200, End: -100}
	if before.Size() != 100 || before.MaxTimestamp() != -101 || before.String() != "[-200--100]" || !before.Contains(-200) || before.Contains(-100) {
		t.Error(before)
	}
	if !all.Intersects(before) || !before.Intersects(all) || all.Cover(before) != all || before.Cover(all) != all {
		t.Error("all time and", before)
	}
	seen := map[window.Window]int{all: 1, before: 2, {Start: -200, End: -99}: 3}
	if seen[window.Window{Start: -200, End: -100}] != 2 || seen[window.Window{Start: math.MinInt64, End: math.MaxInt64}] != 1 || len(seen) != 3 {
		t.Error(seen)
	}
}

// Assigners come to an end wherever the moment lies, with as many windows as anywhere else, or fewer at the ends of time.
func TestAssignersAtTheEndsOfTime(t *testing.T) {
	for _, a := range []window.Assigner{
		window.Tumbling(time.Millisecond), window.Tumbling(time.Hour).WithOffset(-time.Minute), window.Session(time.Hour), window.Global(),
		window.Sliding(time.Hour, time.Minute), window.Sliding(time.Minute, time.Hour), window.Sliding(11*time.Millisecond, 10*time.Millisecond),
	} {
		most := max(len(a.Append(nil, 0)), len(a.Append(nil, 10)))
		for _, ts := range []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 60_000, -1, 0, 1, math.MaxInt64 - 60_000, math.MaxInt64 - 1, math.MaxInt64} {
			if n := len(a.Append(nil, ts)); n > most {
				t.Errorf("%s at %d: %d windows, %d at 0", a, ts, n, most)
			}
		}
	}
}
