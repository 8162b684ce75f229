package engine_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

type flightCell struct {
	Origin     string
	Start, End int64
}

// countFlights is the last result of each window of each airport, and how many records were too late.
func countFlights(t *testing.T, all []flight, a window.Assigner, bound, lateness time.Duration) (map[flightCell]int64, int64) {
	t.Helper()
	g := engine.New(engine.Config{})
	timed := engine.EventTime(engine.From(g, engine.Slice(all)), func(f flight) int64 { return f.TS }, engine.Bounded(bound))
	w := engine.Window(engine.KeyBy(timed, func(f flight) string { return f.Origin }), a).WithLateness(lateness)
	got := map[flightCell]int64{}
	engine.ForEach(engine.CountWindow(w), func(_ engine.Context, r engine.Result[string, int64]) error {
		if was, again := got[flightCell{r.Key, r.Window.Start, r.Window.End}]; again && (lateness == 0 || was >= r.Value) {
			t.Errorf("%v of %s came again with %d after %d", r.Window, r.Key, r.Value, was)
		}
		got[flightCell{r.Key, r.Window.Start, r.Window.End}] = r.Value
		return nil
	})
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got, p.Progress().LateDropped
}

// Twenty thousand real records in overlapping windows, with delay and lateness below and above their disorder of 491 minutes,
// against a plain program.
func TestFlightsInSlidingWindows(t *testing.T) {
	all := decodeFlights(t, flightText(t))
	const hour = int64(time.Hour / time.Millisecond)
	for _, c := range []struct {
		name            string
		bound, lateness time.Duration
		late            bool
	}{
		{"no lateness needed", 491 * time.Minute, 0, false},
		{"lateness makes up for the delay", time.Minute, 490 * time.Minute, false},
		{"both are too short together", time.Minute, time.Hour, true},
		{"watermarks alone", 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, late, top := map[flightCell]int64{}, int64(0), int64(-1<<62)
			for _, f := range all {
				placed := false
				// Event time when f comes: all before top-bound is there.
				now := top - c.bound.Milliseconds()
				for start := f.TS - f.TS%hour; start > f.TS-6*hour; start -= hour {
					if start+6*hour+c.lateness.Milliseconds() > now {
						want[flightCell{f.Origin, start, start + 6*hour}]++
						placed = true
					}
				}
				if !placed {
					late++
				}
				top = max(top, f.TS)
			}
			got, dropped := countFlights(t, all, window.Sliding(6*time.Hour, time.Hour), c.bound, c.lateness)
			if !maps.Equal(want, got) || dropped != late {
				t.Error(len(want), len(got), late, dropped)
			}
			if whole := !slices.ContainsFunc(slices.Collect(maps.Values(got)), func(n int64) bool { return n < 1 }); !whole {
				t.Error("an empty window was emitted")
			}
			if !c.late && late > 0 {
				t.Error(late, "records late")
			}
		})
	}
}

// The same in sessions, in which nothing is late.
func TestFlightsInSessions(t *testing.T) {
	all := decodeFlights(t, flightText(t))
	const gap = int64(20 * time.Minute / time.Millisecond)
	got, late := countFlights(t, all, window.Session(20*time.Minute), 491*time.Minute, 0)
	byAirport := slices.Clone(all)
	slices.SortStableFunc(byAirport, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.TS, b.TS))
	})
	want := map[flightCell]int64{}
	for i := 0; i < len(byAirport); {
		end := i + 1
		for end < len(byAirport) && byAirport[end].Origin == byAirport[i].Origin && byAirport[end].TS-byAirport[end-1].TS < gap {
			end++
		}
		want[flightCell{byAirport[i].Origin, byAirport[i].TS, byAirport[end-1].TS + gap}] = int64(end - i)
		i = end
	}
	if d := gocmp.Diff(want, got); d != "" || late != 0 {
		t.Error(d, late)
	}
}
