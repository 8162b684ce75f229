package engine_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// sums gives the running sums of numbers under one key.
func sums[N engine.Number](t *testing.T, in ...N) []N {
	t.Helper()
	return collect(t, func(g *engine.Graph) engine.Stream[N] {
		return engine.Sum(engine.KeyBy(engine.From(g, engine.Slice(in)), func(N) string { return "k" }), func(v N) N { return v })
	})
}

// A sum is of the type of its numbers, with its precision and its overflow.
func TestSumsAreOfTheTypeOfTheirNumbers(t *testing.T) {
	type metres float64
	type level uint8
	for want, got := range map[string]any{
		"[]int [10 30 60]":                   sums(t, 10, 20, 30),
		"[]int8 [100 -56 -128]":              sums[int8](t, 100, 100, -72),
		"[]int16 [32767 -32768]":             sums[int16](t, math.MaxInt16, 1),
		"[]int32 [-5 -5 0]":                  sums[int32](t, -5, 0, 5),
		"[]int64 [9223372036854775807 -2]":   sums[int64](t, math.MaxInt64, math.MaxInt64),
		"[]uint [1 3]":                       sums[uint](t, 1, 2),
		"[]uint8 [200 144]":                  sums[uint8](t, 200, 200),
		"[]uint16 [65535 0]":                 sums[uint16](t, math.MaxUint16, 1),
		"[]uint32 [7]":                       sums[uint32](t, 7),
		"[]uint64 [18446744073709551615 41]": sums[uint64](t, math.MaxUint64, 42),
		"[]float32 [0.1 0.3 1e+10]":          sums[float32](t, 0.1, 0.2, 1e10),
		"[]float64 [10.5 30.8 61]":           sums(t, 10.5, 20.3, 30.2),
		"[]float64 [+Inf NaN NaN]":           sums(t, math.Inf(1), math.Inf(-1), 1),
		"[]engine_test.metres [1.5 4]":       sums[metres](t, 1.5, 2.5),
		"[]engine_test.level [250 4]":        sums[level](t, 250, 10),
		"[]int []":                           sums[int](t),
	} {
		if text := fmt.Sprintf("%T %v", got, got); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// What is computed of keys on the way does not change them: the reduce still has one result for the odd and one for the even.
func TestMapKeyedKeepsTheKeys(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		calls := make(chan int, 100) // from the map, of any subtask; room for all
		g := engine.New(engine.Config{Parallelism: parallelism})
		oddOrEven := engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2, 3})), func(v int) string { return []string{"even", "odd"}[v%2] })
		tens := engine.MapKeyed(oddOrEven, func(key string, v int) int {
			if (key == "odd") != (v%2 == 1) {
				t.Error(key, v)
			}
			calls <- v
			return 10 * v
		})
		halves := engine.MapKeyed(engine.MapKeyed(tens, func(_ string, v int) float64 { return float64(v) }), func(_ string, v float64) int { return int(v) })
		var rows engine.Rows[string]
		text := func(kind string, s engine.Stream[int]) {
			engine.ToRows(engine.Map(s, func(v int) string { return fmt.Sprint(kind, v) }), &rows)
		}
		text("reduced ", engine.Reduce(halves, func(a, b int) int { return a + b }))
		text("summed ", engine.Sum(halves, same))
		if err := build(t, g).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"reduced 10", "reduced 20", "reduced 40", "summed 10", "summed 20", "summed 40"}
		if d := cmp.Diff(want, sorted(rows.All())); d != "" || len(calls) != 3 {
			t.Errorf("parallelism %d: %s, %d calls for 3 records", parallelism, d, len(calls))
		}
	}
}

// The empty key and the zero value are like any other.
func TestValueState(t *testing.T) {
	// What is done for which key, and what the value is then.
	type step struct{ key, do, want string }
	steps := []step{
		{"a", "", "0 false"},
		{"a", "clear", "0 false"},
		{"a", "1", "1 true"},
		{"a", "2", "2 true"},
		{"", "", "0 false"},
		{"", "7", "7 true"},
		{"b", "9", "9 true"},
		{"a", "clear", "0 false"},
		{"a", "clear", "0 false"},
		{"", "", "7 true"},
		{"b", "", "9 true"},
		{"a", "3", "3 true"},
		{"b", "0", "0 true"},
		{"b", "clear", "0 false"},
		{"", "", "7 true"},
	}
	got := collect(t, func(g *engine.Graph) engine.Stream[string] {
		byKey := engine.KeyBy(engine.From(g, engine.Slice(steps)), func(s step) string { return s.key })
		return engine.Process(byKey, func(op *engine.Keyed[string]) engine.ProcessFunc[string, step, string] {
			n, other, none := engine.ValueOf[int](op, "n"), engine.ValueOf[string](op, "other"), engine.ValueOf[*int](op, "none")
			return func(_ engine.Context, _ string, s step, emit func(string)) error {
				switch s.do {
				case "":
				case "clear":
					n.Clear()
				default:
					var v int
					if _, err := fmt.Sscan(s.do, &v); err != nil {
						return err
					}
					n.Put(v)
				}
				v, ok := n.Lookup()
				if v != n.Get() {
					return fmt.Errorf("%d and %d", v, n.Get())
				}
				if have, some := other.Lookup(); some && have != s.key { // states do not see each other
					return fmt.Errorf("key %q has %q", s.key, have)
				}
				other.Put(s.key)
				none.Put(nil)
				if p, some := none.Lookup(); p != nil || !some {
					return errors.New("nil is not kept")
				}
				emit(fmt.Sprint(v, " ", ok))
				return nil
			}
		})
	})
	for i, s := range steps {
		if i >= len(got) || got[i] != s.want {
			t.Fatalf("step %d, key %q, %q: want %s of %v", i, s.key, s.do, s.want, got)
		}
	}
}

// Every call of every kind of state without a key is refused, and the error says which state.
func TestEveryCallOfStateNeedsAKey(t *testing.T) {
	for _, kind := range []string{"value", "aged", "list", "map", "reducing", "aggregating", "timers"} {
		var calls map[string]func()
		g := engine.New(engine.Config{})
		discard(doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
			calls = stateCalls(op)[kind]
			return func(int, func(int)) error { return nil }
		}))
		build(t, g)
		for name, call := range calls {
			func() {
				defer func() {
					if err, _ := recover().(error); !errors.Is(err, engine.ErrNoKey) || !strings.Contains(err.Error(), "store-1") {
						t.Errorf("%s of %s: %v", name, kind, err)
					}
				}()
				call()
			}()
		}
		if len(calls) < 2 {
			t.Error("calls of", kind, "are", len(calls))
		}
	}
}

func stateCalls(op *engine.Keyed[int]) map[string]map[string]func() {
	v, l := engine.ValueOf[int](op, "v"), engine.ListOf[int](op, "l")
	aged := engine.Declare(op, engine.Descriptor[int]{Name: "aged", TTL: engine.TTL{After: ms}})
	m, r := engine.MapOf[int, int](op, "m"), engine.ReducingOf(op, "r", func(a, _ int) int { return a })
	a := engine.AggregatingOf(op, "a", engine.Aggregation[int, int, int]{Add: func(n, _ int) int { return n }, Result: same})
	timers := op.Timers()
	engine.OnTimer(op, func(engine.Context, engine.Timer[int], func(int)) error { return nil })
	return map[string]map[string]func(){
		"value": {"get": func() { v.Get() }, "lookup": func() { v.Lookup() }, "put": func() { v.Put(1) }, "clear": v.Clear},
		"aged":  {"get": func() { aged.Get() }, "lookup": func() { aged.Lookup() }, "put": func() { aged.Put(1) }, "clear": aged.Clear},
		"list":  {"get": func() { l.Get() }, "len": func() { l.Len() }, "add": func() { l.Add(1) }, "update": func() { l.Update([]int{1}) }, "clear": l.Clear},
		"map": {
			"get": func() { m.Get(1) }, "put": func() { m.Put(1, 1) }, "remove": func() { m.Remove(1) }, "len": func() { m.Len() },
			"all": func() { m.All() }, "clear": m.Clear,
		},
		"reducing":    {"get": func() { r.Get() }, "add": func() { r.Add(1) }, "clear": r.Clear},
		"aggregating": {"get": func() { a.Get() }, "add": func() { a.Add(1) }, "clear": a.Clear},
		"timers": {
			"register event time": func() { timers.RegisterEventTime(1) }, "register processing time": func() { timers.RegisterProcessingTime(1) },
			"delete event time": func() { timers.DeleteEventTime(1) }, "delete processing time": func() { timers.DeleteProcessingTime(1) },
		},
	}
}
