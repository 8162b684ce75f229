package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
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

// countFlights is the last result of each window of each airport, and how many records were too late; with one subtask or more.
func countFlights(
	t *testing.T, all []flight, a window.Assigner, bound, lateness time.Duration, subtasks int,
) (map[flightCell]int64, int64) {
	t.Helper()
	g := engine.New(engine.Config{Parallelism: subtasks})
	timed := engine.EventTime(engine.From(g, engine.Slice(all)), func(f flight) int64 { return f.TS }, engine.Bounded(bound))
	w := engine.Window(engine.KeyBy(timed, func(f flight) string { return f.Origin }), a).WithLateness(lateness)
	got := map[flightCell]int64{}
	var mu sync.Mutex
	engine.ForEach(engine.CountWindow(w), func(_ engine.Context, r engine.Result[string, int64]) error {
		mu.Lock()
		defer mu.Unlock()
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

// delays are watermarks and lateness below and above the flights' disorder of 491 minutes.
var delays = []struct {
	name            string
	bound, lateness time.Duration
	late            bool
}{
	{"no lateness needed", 491 * time.Minute, 0, false},
	{"lateness makes up for the delay", time.Minute, 490 * time.Minute, false},
	{"both are too short together", time.Minute, time.Hour, true},
	{"watermarks alone", 0, 0, true},
}

// againstPlain compares twenty thousand real records in windows with a plain program that gets the records one by one, and how
// far event time has come when it does: all before now is there.
func againstPlain(t *testing.T, a window.Assigner, plain func(lateness int64) plainFlights) {
	all := decodeFlights(t, flightText(t))
	for _, c := range delays {
		for _, subtasks := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, %d subtasks", c.name, subtasks), func(t *testing.T) {
				p, top := plain(c.lateness.Milliseconds()), int64(-1<<62)
				for _, f := range all {
					p.add(f, top-c.bound.Milliseconds())
					top = max(top, f.TS)
				}
				want, late := p.end()
				got, dropped := countFlights(t, all, a, c.bound, c.lateness, subtasks)
				if !maps.Equal(want, got) || dropped != late { // a diff of equal maps of this size takes a second
					t.Error(late, dropped, gocmp.Diff(want, got))
				}
				if !c.late && late > 0 {
					t.Error(late, "records late")
				}
				if slices.Contains(slices.Collect(maps.Values(got)), 0) {
					t.Error("an empty window was emitted")
				}
			})
		}
	}
}

// plainFlights counts flights without an engine.
type plainFlights interface {
	add(f flight, now int64)
	end() (counts map[flightCell]int64, late int64)
}

const hourMS = int64(time.Hour / time.Millisecond)

// plainSliding is windows of size every slide.
type plainSliding struct {
	size, slide, lateness int64
	counts                map[flightCell]int64
	late                  int64
}

func (p *plainSliding) add(f flight, now int64) {
	placed := false
	for start := f.TS - f.TS%p.slide; start > f.TS-p.size; start -= p.slide {
		if start+p.size+p.lateness > now {
			p.counts[flightCell{f.Origin, start, start + p.size}]++
			placed = true
		}
	}
	if !placed {
		p.late++
	}
}

func (p *plainSliding) end() (map[flightCell]int64, int64) { return p.counts, p.late }

func TestFlightsInTumblingWindows(t *testing.T) {
	againstPlain(t, window.Tumbling(3*time.Hour), func(lateness int64) plainFlights {
		return &plainSliding{3 * hourMS, 3 * hourMS, lateness, map[flightCell]int64{}, 0}
	})
}

func TestFlightsInSlidingWindows(t *testing.T) {
	againstPlain(t, window.Sliding(6*time.Hour, time.Hour), func(lateness int64) plainFlights {
		return &plainSliding{6 * hourMS, hourMS, lateness, map[flightCell]int64{}, 0}
	})
}

// plainSessions is sessions of airports, shown when they end and again with each record that is late but not too late.
type plainSessions struct {
	gap, lateness int64
	open          map[string][]plainSession
	shown         map[flightCell]int64
	late          int64
}

type plainSession struct {
	start, end, n int64
	shown         bool
}

func (p *plainSessions) add(f flight, now int64) {
	p.pass(f.Origin, now)
	s := plainSession{start: f.TS, end: f.TS + p.gap, n: 1}
	apart := p.open[f.Origin][:0:0]
	for _, o := range p.open[f.Origin] {
		if o.start < f.TS+p.gap && f.TS < o.end {
			s = plainSession{min(s.start, o.start), max(s.end, o.end), s.n + o.n, false}
			continue
		}
		apart = append(apart, o)
	}
	if s.end+p.lateness <= now { // it has met none, since all that are open end later
		p.late++
		return
	}
	if s.end <= now {
		p.shown[flightCell{f.Origin, s.start, s.end}], s.shown = s.n, true
	}
	p.open[f.Origin] = append(apart, s)
}

// pass shows what has ended at an airport, and forgets what has expired.
func (p *plainSessions) pass(origin string, now int64) {
	list := p.open[origin]
	for i := range list {
		if s := &list[i]; s.end <= now && !s.shown {
			p.shown[flightCell{origin, s.start, s.end}], s.shown = s.n, true
		}
	}
	p.open[origin] = slices.DeleteFunc(list, func(s plainSession) bool { return s.end+p.lateness <= now })
}

func (p *plainSessions) end() (map[flightCell]int64, int64) {
	for origin := range p.open {
		p.pass(origin, 1<<62)
	}
	return p.shown, p.late
}

func TestFlightsInSessions(t *testing.T) {
	againstPlain(t, window.Session(20*time.Minute), func(lateness int64) plainFlights {
		return &plainSessions{20 * hourMS / 60, lateness, map[string][]plainSession{}, map[flightCell]int64{}, 0}
	})
}
