package engine_test

import (
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// booming is a trigger that fails at one of its calls.
type booming struct {
	window.Trigger
	at   string
	boom func(int) error
}

func (b booming) call(here string) {
	if here == b.at {
		must(b.boom(2))
	}
}

func (b booming) String() string { return "booming" }

func (b booming) OnElement(c *window.Call, ts int64) window.Result {
	b.call("element")
	c.WakeProcessingTime = 1 // has passed when the next record comes
	return b.Trigger.OnElement(c, ts)
}

func (b booming) OnEventTime(c *window.Call, t int64) window.Result {
	b.call("event time")
	return b.Trigger.OnEventTime(c, t)
}

func (b booming) OnProcessingTime(*window.Call, int64) window.Result {
	b.call("processing time")
	return window.Continue
}

func (b booming) OnMerge(*window.Call, window.Memory) { b.call("merge") }
func (b booming) Clear(*window.Call)                  { b.call("clear") }

// boomingWindows is an assigner that fails.
type boomingWindows struct {
	window.TumblingAssigner
	boom func(int) error
}

func (b boomingWindows) Append(dst []window.Window, ts int64) []window.Window {
	must(b.boom(int(ts)))
	return b.TumblingAssigner.Append(dst, ts)
}

// failingWindows lists the functions of windows and triggers.
func failingWindows() []failingCase {
	const what = "window function failed"
	// Three sessions for each key, of which the third record joins two: 0, 150, 75, and once more a second later.
	stamp := func(v int) int64 { return []int64{0, 150, 75, 1000, 1150, 1075}[v-1] }
	type windows = engine.WindowedStream[bool, int]
	over := func(a window.Assigner, f func(w windows, boom func(int) error)) func(*engine.Graph, func(int) error) {
		return func(g *engine.Graph, boom func(int) error) {
			timed := engine.EventTime(six(g), stamp, engine.Bounded(200*ms))
			f(engine.Window(engine.KeyBy(timed, func(int) bool { return true }), a), boom)
		}
	}
	folding := func(part string) func(w windows, boom func(int) error) {
		return func(w windows, boom func(int) error) {
			at := func(here string) {
				if here == part {
					must(boom(2))
				}
			}
			discard(engine.Aggregate(w, engine.Aggregation[int, int, int]{
				New: func() int { at("new"); return 0 }, Add: func(n, v int) int { at("add"); return n + v },
				Merge: func(a, b int) int { at("merge"); return a + b }, Result: func(n int) int { at("result"); return n },
			}))
		}
	}
	var all []failingCase
	for name, a := range map[string]window.Assigner{
		"tumbling": window.Tumbling(time.Second), "session": window.Session(100 * ms), "sliding": window.Sliding(100*ms, 50*ms),
	} {
		for _, part := range []string{"new", "add", "merge", "result"} {
			if part == "merge" && name == "tumbling" {
				continue
			}
			all = append(all, failingCase{part + " of " + name + " windows", "window-1", what, 0, over(a, folding(part)), false})
		}
	}
	for _, call := range []string{"element", "event time", "processing time", "merge", "clear"} {
		trigger := func(w windows, boom func(int) error) {
			discard(engine.CountWindow(w.WithTrigger(booming{window.OnEventTime(), call, boom})))
		}
		all = append(all, failingCase{"trigger, " + call, "window-1", what, 0, over(window.Session(100*ms), trigger), false})
	}
	return append(all,
		failingCase{"assigner", "window-1", what, 2, func(g *engine.Graph, boom func(int) error) {
			timed := engine.EventTime(six(g), func(v int) int64 { return int64(v) }, engine.Ascending())
			discard(engine.CountWindow(engine.Window(engine.KeyBy(timed, same), boomingWindows{window.Tumbling(time.Second), boom})))
		}, false},
		failingCase{"reduce in windows", "window-1", what, 2, over(window.Tumbling(time.Second), func(w windows, boom func(int) error) {
			discard(engine.ReduceWindow(w, func(_, v int) int { must(boom(v)); return v }))
		}), false},
		failingCase{"apply to windows, after it has emitted", "window-1", what, 0, over(window.Tumbling(time.Second), func(w windows, boom func(int) error) {
			discard(engine.ApplyWindow(w, func(_ engine.Context, _ bool, _ window.Window, all []int, emit func(int)) error {
				emit(len(all))
				return boom(2)
			}))
		}), false},
		failingCase{"what reads late records", "map-1", "map function failed", 2, func(g *engine.Graph, boom func(int) error) {
			falling := engine.EventTime(six(g), func(v int) int64 { return -1000 * int64(v) }, engine.Ascending())
			late := engine.NewSideOutput[int]("late")
			counts := engine.CountWindow(engine.Window(engine.KeyBy(falling, func(int) bool { return true }), window.Tumbling(time.Second)).WithLateOutput(late))
			discard(engine.TryMap(engine.Side(counts, late), func(_ engine.Context, v int) (int, error) { return v, boom(v) }))
		}, false},
	)
}
