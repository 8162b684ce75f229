package window_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/window"
)

func TestAssign(t *testing.T) {
	ms := time.Millisecond
	w := func(a, b int64) window.Window { return window.Window{Start: a, End: b} }
	for _, c := range []struct {
		name     string
		assigner window.Assigner
		ts       int64
		want     []window.Window
	}{
		{"sliding, starts descending", window.Sliding(10000*ms, 5000*ms), 12345, []window.Window{w(10000, 20000), w(5000, 15000)}},
		{"sliding by the size is one window", window.Sliding(1000*ms, 1000*ms), 1500, []window.Window{w(1000, 2000)}},
		{"sliding by more than the size", window.Sliding(10000*ms, 15000*ms), 20000, []window.Window{w(15000, 25000)}},
		{"in the gap between windows", window.Sliding(10000*ms, 15000*ms), 27000, nil},
		{"at the end of a window before a gap", window.Sliding(10000*ms, 15000*ms), 25000, nil},
		{"sliding, size no multiple of the slide", window.Sliding(11*ms, 10*ms), 10, []window.Window{w(10, 21), w(0, 11)}},
		{"the same, where only one window reaches", window.Sliding(11*ms, 10*ms), 11, []window.Window{w(10, 21)}},
		{"sliding before the epoch", window.Sliding(1000*ms, 500*ms), -1, []window.Window{w(-500, 500), w(-1000, 0)}},
		{"sliding with an offset", window.Sliding(100*ms, 50*ms).WithOffset(10 * ms), 9, []window.Window{w(-40, 60), w(-90, 10)}},
		{"session", window.Session(100 * ms), 7, []window.Window{w(7, 107)}},
		{"session without a gap", window.Session(0), 7, []window.Window{w(7, 7)}},
		{"session before the epoch", window.Session(100 * ms), -500, []window.Window{w(-500, -400)}},
		{"session at the end of time", window.Session(100 * ms), math.MaxInt64 - 1, []window.Window{w(math.MaxInt64-1, math.MaxInt64)}},
		{"global", window.Global(), -7, []window.Window{w(math.MinInt64, math.MaxInt64)}},
		{"count", window.Count(3), 7, []window.Window{w(math.MinInt64, math.MaxInt64)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.assigner.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := c.assigner.Append(nil, c.ts); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			_, session := c.assigner.(window.SessionAssigner)
			if c.assigner.Merges() != session {
				t.Error("only sessions merge")
			}
		})
	}
}

func TestNumberOfSlidingWindows(t *testing.T) {
	for _, c := range []struct {
		size, slide time.Duration
		ts          int64
		want        int
	}{
		{100, 10, 5, 10},
		{1000, 100, 5, 10},
		{100, 1, 5, 100},
		{1000, 1, 0, 1000},
		{11, 10, 10, 2},
		{5 * 60000, 60000, 1, 5},
		{60 * 60000, 15 * 60000, 1, 4},
	} {
		a := window.Sliding(c.size*time.Millisecond, c.slide*time.Millisecond)
		if got := len(a.Append(nil, c.ts)); got != c.want || !a.Overlaps() {
			t.Errorf("%v: %d windows, want %d", a, got, c.want)
		}
	}
	if window.Sliding(time.Second, time.Second).Overlaps() {
		t.Error("windows that slide by their size overlap")
	}
}

func TestSlidingWindowsAreAllThatContainTheMoment(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size, slide := rapid.Int64Range(1, 60).Draw(rt, "size"), rapid.Int64Range(1, 60).Draw(rt, "slide")
		offset, ts := rapid.Int64Range(1-slide, slide-1).Draw(rt, "offset"), rapid.Int64Range(-200, 200).Draw(rt, "ts")
		var want []window.Window
		for n := int64(300); n >= -300; n-- {
			if w := (window.Window{Start: n*slide + offset, End: n*slide + offset + size}); w.Contains(ts) {
				want = append(want, w)
			}
		}
		if slide*300 < 400 { // the loop above must reach as far as ts
			want = nil
			for start := int64(-500); start <= 500; start++ {
				if w := (window.Window{Start: -start, End: size - start}); (-start-offset)%slide == 0 && w.Contains(ts) {
					want = append(want, w)
				}
			}
		}
		a := window.Sliding(time.Duration(size)*time.Millisecond, time.Duration(slide)*time.Millisecond).WithOffset(time.Duration(offset) * time.Millisecond)
		if got := a.Append(nil, ts); !slices.Equal(got, want) {
			rt.Fatalf("%v at %d: got %v, want %v", a, ts, got, want)
		}
	})
}

func TestAssignersThatMakeNoSenseAreRefused(t *testing.T) {
	s := time.Second
	for name, a := range map[string]window.Assigner{
		"size 0": window.Sliding(0, s), "slide 0": window.Sliding(s, 0), "negative size": window.Sliding(-s, s), "negative slide": window.Sliding(s, -s),
		"offset of a whole slide": window.Sliding(10*s, s).WithOffset(s), "negative gap": window.Session(-s),
		"count 0": window.Count(0), "negative count": window.Count(-1), "slide below a millisecond": window.Sliding(s, time.Microsecond),
	} {
		if err := a.Validate(); !errors.Is(err, window.ErrSize) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefaultTriggers(t *testing.T) {
	for a, want := range map[window.Assigner]string{
		window.Tumbling(time.Second): "event-time", window.Sliding(time.Second, time.Second): "event-time", window.Session(time.Second): "event-time",
		window.Global(): "event-time", window.Count(3): "purging(on-count(3))",
	} {
		if got := window.DefaultTrigger(a).String(); got != want {
			t.Errorf("%s: %s, want %s", a, got, want)
		}
	}
}
