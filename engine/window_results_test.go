package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

const ms = time.Millisecond

// at is a record of key "k" with the value 1.
func at(ts int64) event { return event{"k", ts, 1} }

// valued are records of key "k" with values, at 0, 1, 2, ….
func valued(values ...int64) (all []event) {
	for i, v := range values {
		all = append(all, event{"k", int64(i), v})
	}
	return all
}

type windowed = engine.WindowedStream[string, event]

// windows cuts events into windows, with watermarks right behind the greatest timestamp.
func windows(g *engine.Graph, in []event, a window.Assigner) windowed {
	timed := engine.EventTime(engine.From(g, watched{in, calm().before}), nil, engine.Ascending())
	return engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), a)
}

// sumText is the sum of each window as text, with the timestamp of the result.
func sumText(w windowed) engine.Stream[string] {
	sums := engine.Aggregate(w, engine.Aggregation[event, int64, int64]{
		Add:    func(n int64, e event) int64 { return n + e.N },
		Merge:  func(a, b int64) int64 { return a + b },
		Result: func(n int64) int64 { return n },
	})
	return engine.Map(sums, func(r engine.Result[string, int64]) string {
		if r.Window.Size() < 0 { // all time
			return fmt.Sprintf("%s=%d", r.Key, r.Value)
		}
		return fmt.Sprintf("%s%v=%d", r.Key, r.Window, r.Value)
	})
}

// everyTwo answers every second element with its result, and can be told to panic.
type everyTwo struct {
	window.Trigger
	answer window.Result
}

func (e everyTwo) OnElement(c *window.Call, _ int64) window.Result {
	if c.Memory[0]++; c.Memory[0]%2 == 0 {
		return e.answer
	}
	return window.Continue
}

func (everyTwo) OnEventTime(*window.Call, int64) window.Result { return window.Continue }
func (everyTwo) String() string                                { return "every-two" }

func TestWindowedSums(t *testing.T) {
	tumbling := func(n time.Duration) window.Assigner { return window.Tumbling(n * ms) }
	session := window.Session(100 * ms)
	early := func(tr window.Trigger) func(windowed) windowed {
		return func(w windowed) windowed { return w.WithTrigger(tr) }
	}
	lateness := func(d time.Duration) func(windowed) windowed {
		return func(w windowed) windowed { return w.WithLateness(d * ms) }
	}
	answer := func(r window.Result) func(windowed) windowed { return early(everyTwo{window.OnEventTime(), r}) }
	for _, c := range []struct {
		name     string
		assigner window.Assigner
		with     func(windowed) windowed
		in       []event
		want     []string
	}{
		{"sliding windows overlap", window.Sliding(100*ms, 50*ms), nil, []event{at(10), at(60), at(120)}, []string{"k[-50-50]=1", "k[0-100]=2", "k[50-150]=2", "k[100-200]=1"}},
		{"a session grows together", session, nil, []event{at(0), at(50), at(120), at(170)}, []string{"k[0-270]=4"}},
		{"a gap parts sessions", session, nil, []event{at(0), at(50), at(200)}, []string{"k[0-150]=2", "k[200-300]=1"}},
		{"exactly a gap apart are two sessions", session, nil, []event{at(0), at(100)}, []string{"k[0-100]=1", "k[100-200]=1"}},
		{"a record between two sessions joins them", session, lateness(1000), []event{{"k", 0, 1}, {"k", 150, 2}, {"k", 90, 4}}, []string{"k[0-100]=1", "k[0-250]=7"}},
		{"sessions of keys are apart", session, nil, []event{{"a", 0, 1}, {"b", 50, 1}, {"a", 60, 1}}, []string{"b[50-150]=1", "a[0-160]=2"}},
		{"a session before the epoch", session, nil, []event{at(-250), at(-200), at(-50)}, []string{"k[-250--100]=2", "k[-50-50]=1"}},
		{"a session grows backwards", session, lateness(0), []event{{"k", 50, 1}, {"a", 60, 1}, {"k", 10, 1}}, []string{"k[10-150]=2", "a[60-160]=1"}},
		{"sessions without a gap join records of one moment", window.Session(0), lateness(10), []event{at(5), at(5), at(6)}, []string{"k[5-5]=1", "k[5-5]=2", "k[6-6]=1"}},
		{"global waits for the end", window.Global(), nil, valued(1, 2, 3), []string{"k=6"}},
		{"counts of three, and what is left", window.Count(3), nil, valued(1, 2, 3, 4), []string{"k=6", "k=4"}},
		{"counts with nothing left", window.Count(2), nil, valued(1, 2, 3, 4), []string{"k=3", "k=7"}},
		{"counts are per key", window.Count(2), nil, []event{{"a", 0, 1}, {"b", 0, 10}, {"b", 0, 20}, {"a", 0, 2}}, []string{"b=30", "a=3"}},
		{"firing on a count keeps the content", tumbling(1000), early(window.OnCount(3)), valued(1, 1, 1, 1), []string{"k[0-1000]=3", "k[0-1000]=4"}},
		{"a partial result, and the same again at the close", tumbling(1000), early(window.OnCount(3)), valued(1, 1, 1), []string{"k[0-1000]=3", "k[0-1000]=3"}},
		{"purging on a count leaves nothing for the end", window.Global(), early(window.Purging(window.OnCount(2))), valued(1, 2, 3, 4), []string{"k=3", "k=7"}},
		{"fire and purge", tumbling(1000), answer(window.FireAndPurge), valued(1, 2, 3, 4), []string{"k[0-1000]=3", "k[0-1000]=7"}},
		{"purge drops without emitting", tumbling(1000), answer(window.Purge), valued(1, 2, 3), []string{"k[0-1000]=3"}},
		{"purge of everything emits nothing", tumbling(1000), answer(window.Purge), valued(1, 2), nil},
		{"a count trigger's sessions add their counts up", session, func(w windowed) windowed { return w.WithTrigger(window.OnCount(3)).WithLateness(time.Second) }, []event{at(0), at(150), at(75)}, []string{"k[0-250]=3", "k[0-250]=3"}},
		{"within the lateness a window is emitted again", tumbling(1000), lateness(1500), []event{at(10), at(2000), at(20)}, []string{"k[0-1000]=1", "k[0-1000]=2", "k[2000-3000]=1"}},
		{"beyond the lateness it is not", tumbling(1000), lateness(1000), []event{at(10), at(2000), at(20)}, []string{"k[0-1000]=1", "k[2000-3000]=1"}},
		{"one millisecond more, and it is", tumbling(1000), lateness(1001), []event{at(10), at(2000), at(20)}, []string{"k[0-1000]=1", "k[0-1000]=2", "k[2000-3000]=1"}},
		{"a late window may be new", tumbling(1000), lateness(1500), []event{at(2000), at(20)}, []string{"k[0-1000]=1", "k[2000-3000]=1"}},
		{"purging late firings have what is new", tumbling(1000), func(w windowed) windowed {
			return w.WithTrigger(window.Purging(window.OnEventTime())).WithLateness(time.Minute)
		}, []event{at(10), {"k", 2000, 5}, {"k", 20, 3}}, []string{"k[0-1000]=1", "k[0-1000]=3", "k[2000-3000]=5"}},
		{"a late record reopens a session", session, lateness(1000), []event{at(0), at(120), {"a", 150, 9}, at(60)}, []string{"k[0-100]=1", "k[0-220]=3", "a[150-250]=9"}},
		{"records that no count completes are emitted when the window goes", tumbling(1000), func(w windowed) windowed { return w.WithTrigger(window.OnCount(9)).WithLateness(time.Second) }, []event{at(1), at(1500), at(2), at(3000)}, []string{"k[0-1000]=2", "k[1000-2000]=1", "k[3000-4000]=1"}},
		{"no records", session, nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := collect(t, func(g *engine.Graph) engine.Stream[string] {
				w := windows(g, c.in, c.assigner)
				if c.with != nil {
					w = c.with(w)
				}
				return sumText(w)
			})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The windows that merge work for each kind of result.
func TestSessionsOfEveryKind(t *testing.T) {
	in := []event{{"k", 0, 1}, {"k", 150, 2}, {"k", 75, 3}, {"k", 80, 4}}
	run := func(stream func(windowed) engine.Stream[string]) string {
		got := collect(t, func(g *engine.Graph) engine.Stream[string] {
			return stream(windows(g, in, window.Session(100*ms)).WithLateness(time.Second))
		})
		return got[len(got)-1]
	}
	if got := run(func(w windowed) engine.Stream[string] {
		return engine.Map(engine.CountWindow(w), func(r engine.Result[string, int64]) string { return fmt.Sprint(r.Window, r.Value) })
	}); got != "[0-250] 4" {
		t.Error("count", got)
	}
	if got := run(func(w windowed) engine.Stream[string] {
		return engine.TryMap(engine.ReduceWindow(w, func(a, b event) event { return event{b.Key, b.TS, a.N*10 + b.N} }),
			func(c engine.Context, r engine.Result[string, event]) (string, error) {
				return fmt.Sprint(r.Value.N, "@", c.Timestamp()), nil
			})
	}); got != "1234@150" {
		t.Error("reduce", got)
	}
	if got := run(func(w windowed) engine.Stream[string] {
		return engine.ApplyWindow(w, func(_ engine.Context, _ string, w window.Window, all []event, emit func(string)) error {
			s := w.String()
			for i := range all {
				s += fmt.Sprint(" ", all[i].N)
				all[i].N = -1 // the elements are the function's own
			}
			emit(s)
			return nil
		})
	}); got != "[0-250] 1 2 3 4" {
		t.Error("apply", got)
	}
}

// What a window does not take is counted, and can be read.
func TestStraysAreCountedAndReadable(t *testing.T) {
	in := []event{at(10), at(2000), at(20), at(30), at(2010)}
	for _, c := range []struct {
		name     string
		assigner window.Assigner
		read     bool
		want     engine.WindowProgress
	}{
		{"dropped", window.Tumbling(time.Second), false, engine.WindowProgress{Operator: "window-1", LateDropped: 2}},
		{"diverted", window.Tumbling(time.Second), true, engine.WindowProgress{Operator: "window-1", LateDiverted: 2}},
		{"diverted from sessions", window.Session(time.Second), true, engine.WindowProgress{Operator: "window-1", LateDiverted: 2}},
		{"between windows", window.Sliding(15*ms, 1000*ms), false, engine.WindowProgress{Operator: "window-1", Unplaced: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := engine.New(engine.Config{})
			late := engine.NewSideOutput[event]("late")
			sums := sumText(windows(g, in, c.assigner).WithLateOutput(late))
			var rows engine.Rows[string]
			engine.ToRows(sums, &rows)
			var strays engine.Rows[event]
			if c.read {
				engine.ToRows(engine.Side(sums, late), &strays)
			}
			p := build(t, g)
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := p.Progress()
			if d := cmp.Diff([]engine.WindowProgress{c.want}, got.Windows); d != "" || got.LateDropped != c.want.LateDropped {
				t.Error(d, got.LateDropped)
			}
			if want := []event{at(20), at(30)}; c.read && !slices.Equal(strays.All(), want) {
				t.Errorf("read %v", strays.All())
			}
		})
	}
}

// A side output can be read alone, twice, and cut into windows by the watermarks of its operator.
func TestSideOutputs(t *testing.T) {
	g := engine.New(engine.Config{})
	late := engine.NewSideOutput[event]("late")
	sums := sumText(windows(g, []event{at(10), at(2000), at(20)}, window.Tumbling(time.Second)).WithLateOutput(late))
	var a, b engine.Rows[string]
	text := func(e event) string { return fmt.Sprint(e.TS) }
	engine.ToRows(engine.Map(engine.Side(sums, late), text), &a)
	engine.ToRows(sumText(engine.Window(engine.KeyBy(engine.Side(sums, late), text), window.Tumbling(time.Hour))), &b)
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.All(), []string{"20"}) || !slices.Equal(b.All(), []string{"20[0-3600000]=1"}) {
		t.Error(a.All(), b.All())
	}
}

func TestMistakesWithWindowsAreReportedWhenTheGraphIsBuilt(t *testing.T) {
	tag := engine.NewSideOutput[event]("late")
	with := func(a window.Assigner, f func(windowed) windowed) func(g *engine.Graph) engine.Stream[string] {
		return func(g *engine.Graph) engine.Stream[string] { return sumText(f(windows(g, nil, a))) }
	}
	same := func(w windowed) windowed { return w }
	hour := window.Tumbling(time.Hour)
	for _, c := range []struct {
		name string
		want error
		make func(g *engine.Graph) engine.Stream[string]
	}{
		{"a count of 0", window.ErrSize, with(window.Count(0), same)},
		{"a negative gap", window.ErrSize, with(window.Session(-time.Second), same)},
		{"a trigger of 0", window.ErrSize, with(hour, func(w windowed) windowed { return w.WithTrigger(window.OnCount(0)) })},
		{"no trigger", engine.ErrNil, with(hour, func(w windowed) windowed { return w.WithTrigger(nil) })},
		{"a negative lateness", engine.ErrInvalid, with(hour, func(w windowed) windowed { return w.WithLateness(-time.Second) })},
		{"processing time without a clock", engine.ErrNoClock, with(hour, func(w windowed) windowed { return w.WithTrigger(window.OnProcessingTime()) })},
		{"no tag", engine.ErrNil, with(hour, func(w windowed) windowed { return w.WithLateOutput(nil) })},
		{"sessions of an aggregate that cannot merge", engine.ErrNil, func(g *engine.Graph) engine.Stream[string] {
			return engine.Map(engine.Aggregate(windows(g, nil, window.Session(time.Second)), engine.Aggregation[event, int, string]{
				Add: func(n int, _ event) int { return n }, Result: func(int) string { return "" },
			}), func(r engine.Result[string, string]) string { return r.Value })
		}},
		{"a side output that nobody writes to", engine.ErrInvalid, func(g *engine.Graph) engine.Stream[string] {
			return engine.Map(engine.Side(engine.From(g, engine.Slice([]int{1})), tag), func(e event) string { return e.Key })
		}},
		{"a side output of two operators", engine.ErrName, func(g *engine.Graph) engine.Stream[string] {
			w := windows(g, nil, hour).WithLateOutput(tag)
			var rows engine.Rows[string]
			engine.ToRows(sumText(w), &rows)
			return sumText(w)
		}},
	} {
		g := engine.New(engine.Config{})
		var rows engine.Rows[string]
		engine.ToRows(c.make(g), &rows)
		if _, err := g.Build(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
