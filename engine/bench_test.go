package engine_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// The flight job, measured as a share of a plain loop that computes the same. Both run in turn in each iteration, so that
// what else the machine does hits both.

type flight struct {
	TS     int64  `json:"ts"`
	Origin string `json:"origin"`
	Delay  int64  `json:"delay"`
}

type flightTotal struct{ N, Sum, Max int64 }

type flightDay struct {
	Origin string
	Start  int64
	flightTotal
}

const (
	dayMS      = int64(24 * time.Hour / time.Millisecond)
	disorderMS = int64(491 * time.Minute / time.Millisecond)
)

// flightGraph is the job behind a source.
func flightGraph(g *engine.Graph, src engine.Source[flight], rows *engine.Rows[flightDay]) {
	timed := engine.EventTime(engine.From(g, src), func(f flight) int64 { return f.TS }, engine.Bounded(491*time.Minute))
	days := engine.Aggregate(
		engine.Window(engine.KeyBy(timed, func(f flight) string { return f.Origin }), window.Tumbling(24*time.Hour)),
		engine.Aggregation[flight, flightTotal, flightTotal]{
			Add: func(t flightTotal, f flight) flightTotal {
				return flightTotal{t.N + 1, t.Sum + f.Delay, max(t.Max, f.Delay)}
			},
			Result: func(t flightTotal) flightTotal { return t },
		})
	engine.ToRows(engine.Map(days, func(r engine.Result[string, flightTotal]) flightDay {
		return flightDay{r.Key, r.Window.Start, r.Value}
	}), rows)
}

func engineFlights(tb testing.TB, src engine.Source[flight]) []flightDay {
	g := engine.New(engine.Config{})
	var rows engine.Rows[flightDay]
	flightGraph(g, src, &rows)
	p := build(tb, g)
	if err := p.Run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if late := p.Progress().LateDropped; late != 0 {
		tb.Fatal(late, "records late")
	}
	return rows.All()
}

// loopFlights is the same by hand: one map of open days, emitted as the watermark passes them.
type loopFlights struct {
	open map[int64]map[string]flightTotal // by start
	top  int64
	out  []flightDay
}

func (l *loopFlights) add(f flight) {
	start := f.TS - f.TS%dayMS
	day := l.open[start]
	if day == nil {
		day = make(map[string]flightTotal)
		l.open[start] = day
	}
	t := day[f.Origin]
	day[f.Origin] = flightTotal{t.N + 1, t.Sum + f.Delay, max(t.Max, f.Delay)}
	if f.TS > l.top {
		l.top = f.TS
		l.emit(l.top - disorderMS)
	}
}

func (l *loopFlights) emit(until int64) {
	for start, day := range l.open {
		if start+dayMS > until {
			continue
		}
		for origin, t := range day {
			l.out = append(l.out, flightDay{origin, start, t})
		}
		delete(l.open, start)
	}
}

func newLoop() *loopFlights { return &loopFlights{open: map[int64]map[string]flightTotal{}} }

// flightText is the data set as text.
func flightText(tb testing.TB) []byte {
	f, err := os.Open("testdata/flights-20k.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // It was only read.
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func decodeFlights(tb testing.TB, text []byte) []flight {
	var all []flight
	for line := range bytes.Lines(text) {
		var f flight
		if err := json.Unmarshal(line, &f); err != nil {
			tb.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func sortFlights(days []flightDay) []flightDay {
	slices.SortFunc(days, func(a, b flightDay) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Start, b.Start))
	})
	return days
}

// The engine and the plain loop both give the known right answer: 6 901 rows.
func TestFlightsGiveTheRightAnswer(t *testing.T) {
	f, err := os.Open("testdata/flights-daily-by-origin.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // It was only read.
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var want []flightDay
	for _, row := range lines[1:] {
		var n [4]int64
		for i := range n {
			if n[i], err = strconv.ParseInt(row[i+1], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, flightDay{row[0], n[0], flightTotal{n[1], n[2], n[3]}})
	}
	if len(want) != 6901 {
		t.Fatal(len(want), "rows in the answer")
	}
	sortFlights(want)
	opt := gocmp.AllowUnexported(flightDay{})
	fromFile := engine.JSONLines[flight]{Path: "testdata/flights-20k.jsonl.gz"}
	if d := gocmp.Diff(want, sortFlights(engineFlights(t, fromFile)), opt); d != "" {
		t.Error("engine:", d)
	}
	loop := newLoop()
	for _, f := range decodeFlights(t, flightText(t)) {
		loop.add(f)
	}
	loop.emit(1 << 62)
	if d := gocmp.Diff(want, sortFlights(loop.out), opt); d != "" {
		t.Error("loop:", d)
	}
}

// BenchmarkFlightsJSON reads JSON from a file; most of it is decoding, which the engine does beside the pipeline.
func BenchmarkFlightsJSON(b *testing.B) {
	path := filepath.Join(b.TempDir(), "flights.jsonl")
	if err := os.WriteFile(path, flightText(b), 0o600); err != nil {
		b.Fatal(err)
	}
	share(b, 20_000, func() {
		loop := newLoop()
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var v flight
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				b.Fatal(err)
			}
			loop.add(v)
		}
		loop.emit(1 << 62)
	}, func() { engineFlights(b, engine.JSONLines[flight]{Path: path}) })
}

// BenchmarkFlightsDecoded has the records in memory: the engine's own cost, against two map operations and a comparison.
func BenchmarkFlightsDecoded(b *testing.B) {
	all := decodeFlights(b, flightText(b))
	src := engine.Slice(all)
	share(b, len(all), func() {
		loop := newLoop()
		for _, f := range all {
			loop.add(f)
		}
		loop.emit(1 << 62)
	}, func() { engineFlights(b, src) })
}

// share runs floor and measured in turn and reports the one as a share of the other.
func share(b *testing.B, records int, floor, measured func()) {
	var tFloor, tMeasured time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		floor()
		middle := time.Now()
		measured()
		tFloor, tMeasured = tFloor+middle.Sub(start), tMeasured+time.Since(middle)
		n++
	}
	b.ReportMetric(tFloor.Seconds()/tMeasured.Seconds(), "share-of-loop")
	b.ReportMetric(float64(records*n)/tMeasured.Seconds(), "records/s")
}

// counting is a source of n numbers, without timestamps of their own.
type counting int64

func (n counting) Seekable() bool { return true }

func (n counting) Run(_ context.Context, c *engine.Collector[int64]) error {
	for i := c.From(); i < int64(n); i++ {
		if err := c.CollectSoon(engine.Record[int64]{Value: i, Timestamp: i, Next: i + 1}); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkMapFilterMap is a stateless chain: a million records from source to sink.
func BenchmarkMapFilterMap(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		g := engine.New(engine.Config{})
		s := engine.Map(engine.From(g, counting(n)), func(v int64) int64 { return v * 3 })
		s = engine.Map(engine.Filter(s, func(v int64) bool { return v%2 == 0 }), func(v int64) int64 { return v + 1 })
		sum := int64(0)
		engine.ForEach(s, func(_ engine.Context, v int64) error { sum += v; return nil })
		if err := build(b, g).Run(b.Context()); err != nil || sum == 0 {
			b.Fatal(err, sum)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCut is the time under the lock, by number of keys: O(key groups), whatever the keys.
func BenchmarkCut(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(strconv.Itoa(keys), func(b *testing.B) {
			g := engine.New(engine.Config{})
			var last int64
			counts := engine.Sum(engine.KeyBy(engine.From(g, counting(keys)), func(v int64) int64 { return v }), func(int64) int64 { return 1 })
			engine.ForEach(counts, func(_ engine.Context, v int64) error { last = v; return nil })
			p := build(b, g)
			if err := p.Run(b.Context()); err != nil || last != 1 {
				b.Fatal(err, last)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Cut(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Allocations of a run do not grow with its records: none of the hot operators allocates per record.
func TestHotOperatorsDoNotAllocate(t *testing.T) {
	type graph = func(s engine.Stream[int64]) engine.Stream[int64]
	key := func(v int64) int64 { return v % 100 }
	for name, stream := range map[string]graph{
		"map, filter, map": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.Map(engine.Filter(engine.Map(s, key), func(v int64) bool { return v > 5 }), key)
		},
		"try map": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.TryMap(s, func(c engine.Context, v int64) (int64, error) { return v + c.Timestamp(), nil })
		},
		"flat-map": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.FlatMap(s, func(v int64, emit func(int64)) { emit(v); emit(-v) })
		},
		"event time": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.EventTime(s, func(v int64) int64 { return v }, engine.Bounded(time.Second))
		},
		"reduce": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.Reduce(engine.KeyBy(s, key), func(a, b int64) int64 { return a + b })
		},
		"process with a value": func(s engine.Stream[int64]) engine.Stream[int64] {
			return engine.Sum(engine.KeyBy(s, key), key)
		},
		"window": func(s engine.Stream[int64]) engine.Stream[int64] {
			w := engine.Window(engine.KeyBy(s, key), window.Tumbling(time.Hour*24*365))
			return engine.Map(engine.CountWindow(w), func(r engine.Result[int64, int64]) int64 { return r.Value })
		},
		"sliding window": func(s engine.Stream[int64]) engine.Stream[int64] {
			w := engine.Window(engine.KeyBy(s, key), window.Sliding(time.Hour*24*365, time.Hour*24*73))
			return engine.Map(engine.CountWindow(w), func(r engine.Result[int64, int64]) int64 { return r.Value })
		},
		"session window that goes on": func(s engine.Stream[int64]) engine.Stream[int64] {
			w := engine.Window(engine.KeyBy(engine.EventTime(s, nil, engine.Ascending()), key), window.Session(time.Second))
			return engine.Map(engine.CountWindow(w), func(r engine.Result[int64, int64]) int64 { return r.Value })
		},
		"window with a trigger": func(s engine.Stream[int64]) engine.Stream[int64] {
			w := engine.Window(engine.KeyBy(s, key), window.Tumbling(time.Hour*24*365)).WithTrigger(window.OnCount(2))
			return engine.Map(engine.CountWindow(w), func(r engine.Result[int64, int64]) int64 { return r.Value })
		},
	} {
		allocs := func(n int64) float64 {
			return testing.AllocsPerRun(2, func() {
				g := engine.New(engine.Config{})
				engine.ForEach(stream(engine.From(g, counting(n))), func(engine.Context, int64) error { return nil })
				if err := build(t, g).Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
		// Between runs the runtime itself allocates a little (goroutines, timers); 10 000 records more must not show.
		if few, many := allocs(5_000), allocs(15_000); many-few > 100 {
			t.Errorf("%s: %.4f allocations per record", name, (many-few)/10_000)
		}
	}
}
