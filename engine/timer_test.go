package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// timed is the text of what a process function and its timers did.
type timerJob struct {
	// record is called for each record, timer for each timer that fires.
	record func(t *engine.Timers[string], c engine.Context, v int)
	timer  func(t *engine.Timers[string], fired engine.Timer[string])
}

// runTimers runs a job on records that are all of one key, or of the key that keyOf gives, and returns what happened.
func runTimers(t *testing.T, in engine.Stream[int], g *engine.Graph, job timerJob, keyOf func(int) string) []string {
	t.Helper()
	var rows engine.Rows[string]
	timerStream(in, job, keyOf, &rows)
	if err := build(t, g).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return rows.All()
}

func timerStream(in engine.Stream[int], job timerJob, keyOf func(int) string, rows *engine.Rows[string]) {
	out := engine.Process(engine.KeyBy(in, keyOf), func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, string] {
		timers := op.Timers()
		count := engine.ValueOf[int](op, "count")
		engine.OnTimer(op, func(c engine.Context, fired engine.Timer[string], emit func(string)) error {
			kind := map[engine.TimeDomain]string{engine.InEventTime: "et", engine.InProcessingTime: "pt"}[fired.Domain]
			if c.Timestamp() != fired.Time {
				return fmt.Errorf("timestamp %d of timer %d", c.Timestamp(), fired.Time)
			}
			emit(fmt.Sprintf("%s:%s%d", kind, fired.Key, count.Get()))
			if job.timer != nil {
				job.timer(timers, fired)
			}
			return nil
		})
		return func(c engine.Context, key string, v int, emit func(string)) error {
			count.Put(count.Get() + 1)
			emit(fmt.Sprintf("e:%s%d", key, count.Get()))
			job.record(timers, c, v)
			return nil
		}
	})
	engine.ToRows(out, rows)
}

func oneKey(int) string { return "" }

func TestTimersFireBeforeTheNextRecordIsProcessed(t *testing.T) {
	for name, job := range map[string]struct {
		job  timerJob
		want string
	}{
		"processing time goes by the records' timestamps": {timerJob{record: func(t *engine.Timers[string], _ engine.Context, _ int) {
			t.RegisterProcessingTime(t.ProcessingTime() + 1)
		}}, "e:1 pt:1 e:2 pt:2 e:3 pt:3"},
		"event time too, without watermarks": {timerJob{record: func(t *engine.Timers[string], c engine.Context, _ int) {
			t.RegisterEventTime(c.Timestamp() + 1)
		}}, "e:1 et:1 e:2 et:2 e:3 et:3"},
		"set twice it fires once": {timerJob{record: func(t *engine.Timers[string], _ engine.Context, _ int) {
			t.RegisterProcessingTime(5)
			t.RegisterProcessingTime(5)
		}}, "e:1 e:2 e:3 pt:3"},
		"one that has fired may be set anew": {timerJob{record: func(t *engine.Timers[string], _ engine.Context, _ int) {
			t.RegisterEventTime(1)
		}}, "e:1 et:1 e:2 et:2 e:3 et:3"},
		"a deleted one does not fire": {timerJob{record: func(t *engine.Timers[string], _ engine.Context, _ int) {
			t.RegisterEventTime(10)
			t.RegisterProcessingTime(10)
			t.DeleteEventTime(10)
			t.DeleteEventTime(11)
		}}, "e:1 e:2 e:3 pt:3"},
	} {
		t.Run(name, func(t *testing.T) {
			g := engine.New(engine.Config{})
			got := runTimers(t, engine.From(g, engine.Slice([]int{1, 2, 3})), g, job.job, oneKey)
			if d := cmp.Diff(job.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTimersFireInOrderOfTimeThenOfRegistration(t *testing.T) {
	var fired []string
	g := engine.New(engine.Config{})
	runTimers(t, engine.From(g, engine.Slice([]int{1, 2})), g, timerJob{
		record: func(t *engine.Timers[string], _ engine.Context, _ int) {
			for _, at := range []int64{30, 10, 20} {
				t.RegisterEventTime(at)
				t.RegisterProcessingTime(at)
			}
		},
		timer: func(_ *engine.Timers[string], f engine.Timer[string]) {
			fired = append(fired, fmt.Sprint(f.Domain, " ", f.Time, " ", f.Key))
		},
	}, func(v int) string { return string(rune('a' + v)) })
	want := []string{
		"event time 10 b", "event time 10 c", "event time 20 b", "event time 20 c", "event time 30 b", "event time 30 c",
		"processing time 10 b", "processing time 10 c", "processing time 20 b", "processing time 20 c", "processing time 30 b", "processing time 30 c",
	}
	if d := cmp.Diff(want, fired); d != "" {
		t.Error(d)
	}
}

// With watermarks, event time is theirs alone.
func TestEventTimersWaitForTheWatermark(t *testing.T) {
	g := engine.New(engine.Config{})
	in := engine.EventTime(engine.From(g, engine.Slice([]int{100, 200, 300, 400})), func(v int) int64 { return int64(v) }, engine.Bounded(150*ms))
	got := runTimers(t, in, g, timerJob{record: func(t *engine.Timers[string], c engine.Context, _ int) {
		t.RegisterEventTime(c.Timestamp())
	}}, oneKey)
	// 300 brings 149, 400 brings 249.
	if d := cmp.Diff("e:1 e:2 e:3 et:3 e:4 et:4 et:4 et:4", strings.Join(got, " ")); d != "" {
		t.Error(d)
	}
}

// A timer that always sets its successor does not hold up the end of the input; one that sets another before the latest does.
func TestSelfRenewingTimersEndWithTheInput(t *testing.T) {
	for _, domain := range []engine.TimeDomain{engine.InEventTime, engine.InProcessingTime} {
		var fired []int64
		g := engine.New(engine.Config{})
		set := func(t *engine.Timers[string], at int64) {
			if domain == engine.InEventTime {
				t.RegisterEventTime(at)
			} else {
				t.RegisterProcessingTime(at)
			}
		}
		runTimers(t, engine.From(g, engine.Slice([]int{1, 2})), g, timerJob{
			record: func(t *engine.Timers[string], _ engine.Context, v int) {
				set(t, 100)
				if v == 1 {
					set(t, 350)
				}
			},
			timer: func(t *engine.Timers[string], f engine.Timer[string]) {
				if f.Key == "b" {
					fired = append(fired, f.Time)
				}
				set(t, f.Time) // at once again: for ever
				set(t, f.Time+100)
			},
		}, func(v int) string { return string(rune('a' + v)) })
		if len(fired) > 1000 {
			t.Fatal("endless")
		}
		if d := cmp.Diff([]int64{100, 200, 300, 350}, fired); d != "" {
			t.Errorf("%v: %s", domain, d)
		}
	}
}

func TestTimerMistakes(t *testing.T) {
	g := engine.New(engine.Config{})
	in := engine.KeyBy(engine.From(g, engine.Slice([]int{1})), oneKey)
	var outside *engine.Timers[string]
	failing := engine.Process(in, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
		outside = op.Timers()
		engine.OnTimer(op, func(engine.Context, engine.Timer[string], func(int)) error { return errBoom })
		return func(engine.Context, string, int, func(int)) error {
			outside.RegisterEventTime(7)
			return nil
		}
	})
	engine.ForEach(failing, func(engine.Context, int) error { return nil })
	p := build(t, g)
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, engine.ErrNoKey) {
				t.Error("a timer without a key:", err)
			}
		}()
		outside.RegisterEventTime(1)
	}()
	want := "process-1: keyed process timer callback failed at the end of source-1: boom"
	if err := p.Run(t.Context()); err == nil || err.Error() != want || !errors.Is(err, errBoom) {
		t.Error(err)
	}

	for name, setup := range map[string]func(op *engine.Keyed[string]){
		"timers without a function": func(op *engine.Keyed[string]) { op.Timers() },
		"a function without timers of another type": func(op *engine.Keyed[string]) {
			op.Timers()
			engine.OnTimer(op, func(engine.Context, engine.Timer[string], func(string)) error { return nil })
		},
		"two functions": func(op *engine.Keyed[string]) {
			op.Timers()
			engine.OnTimer(op, func(engine.Context, engine.Timer[string], func(int)) error { return nil })
			engine.OnTimer(op, func(engine.Context, engine.Timer[string], func(int)) error { return nil })
		},
	} {
		g := engine.New(engine.Config{})
		s := engine.Process(engine.KeyBy(engine.From(g, engine.Slice([]int{1})), oneKey),
			func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
				setup(op)
				return func(engine.Context, string, int, func(int)) error { return nil }
			})
		engine.ForEach(s, func(engine.Context, int) error { return nil })
		if _, err := g.Build(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
