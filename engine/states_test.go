package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
)

// script runs one function per record, each for the key before its colon ("a:..."), and collects what they say.
func script(t *testing.T, keys string, setup func(op *engine.Keyed[string]) []func() string) []string {
	t.Helper()
	return collect(t, func(g *engine.Graph) engine.Stream[string] {
		src := engine.From(g, engine.Slice(strings.Split(keys, "")))
		return engine.Process(engine.KeyBy(src, func(k string) string { return k }), func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
			steps, i := setup(op), 0
			return func(_ engine.Context, key, _ string, emit func(string)) error {
				emit(key + " " + steps[i]())
				i++
				return nil
			}
		})
	})
}

func TestListState(t *testing.T) {
	got := script(t, "aaabaaa", func(op *engine.Keyed[string]) []func() string {
		l := engine.ListOf[int](op, "l")
		show := func() string { return fmt.Sprint(l.Get(), l.Len()) }
		return []func() string{
			func() string { return fmt.Sprint(l.Get() == nil) + " " + show() },
			func() string { l.Add(1); l.Add(); l.Add(2, 3); return show() },
			func() string { l.Get()[0] = 99; return show() }, // a copy
			func() string { l.Add(7); return show() },
			func() string { in := []int{5, 6}; l.Update(in); in[0] = 99; return show() },
			func() string { l.Update(nil); return show() },
			func() string { l.Add(4); l.Clear(); l.Clear(); l.Add(8); return show() },
		}
	})
	want := []string{"a true [] 0", "a [1 2 3] 3", "a [1 2 3] 3", "b [7] 1", "a [5 6] 2", "a [] 0", "a [8] 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMapState(t *testing.T) {
	got := script(t, "aaaba", func(op *engine.Keyed[string]) []func() string {
		m := engine.MapOf[string, int](op, "m")
		get := func(k string) string { v, ok := m.Get(k); return fmt.Sprint(k, "=", v, ok) }
		return []func() string{
			func() string { _, ok := m.Remove("x"); m.Clear(); return fmt.Sprint(get("x"), " ", m.Len(), ok) },
			func() string { m.Put("x", 1); m.Put("y", 2); m.Put("x", 3); return fmt.Sprint(get("x"), " ", m.Len()) },
			func() string {
				all := maps.Collect(m.All())
				for k := range m.All() {
					m.Remove(k) // while it is read
				}
				return fmt.Sprint(all, m.Len())
			},
			func() string { return get("x") },
			func() string { m.Put("z", 1); v, ok := m.Remove("z"); return fmt.Sprint(v, ok, m.Len()) },
		}
	})
	want := []string{"a x=0 false 0 false", "a x=3 true 2", "a map[x:3 y:2] 0", "b x=0 false", "a 1 true 0"}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], " ", "")
		want[i] = strings.ReplaceAll(want[i], " ", "")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFoldingStates(t *testing.T) {
	got := script(t, "aaba", func(op *engine.Keyed[string]) []func() string {
		r := engine.ReducingOf(op, "r", func(a, b string) string { return a + b })
		s := engine.AggregatingOf(op, "s", engine.Aggregation[string, []int, int]{
			New: func() []int { return []int{100} }, Add: func(acc []int, v string) []int { return append(acc, len(v)) },
			Result: func(acc []int) int {
				n := 0
				for _, v := range acc {
					n += v
				}
				return n
			},
		})
		show := func() string {
			v, ok := r.Get()
			n, some := s.Get()
			return fmt.Sprint(v, ok, n, some)
		}
		add := func(v string) { r.Add(v); s.Add(v) }
		return []func() string{show, func() string { add("x"); add("yy"); return show() }, func() string { add("b"); return show() }, func() string { r.Clear(); s.Clear(); return show() }}
	})
	want := []string{"a false 0 false", "a xyytrue 103 true", "b btrue 101 true", "a false 0 false"}
	for i := range got {
		got[i], want[i] = strings.ReplaceAll(got[i], " ", ""), strings.ReplaceAll(want[i], " ", "")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDescriptors(t *testing.T) {
	d := engine.Descriptor[[]int]{Name: "n", Default: []int{1}}
	if d.SchemaVersion() != 1 || (engine.Descriptor[int]{Version: -3}).SchemaVersion() != 1 || (engine.Descriptor[int]{Version: 2}).SchemaVersion() != 2 {
		t.Error("versions")
	}
	if got := d.String(); got != "n []int = [1] (version 1)" {
		t.Error(got)
	}
	got := script(t, "aaba", func(op *engine.Keyed[string]) []func() string {
		v, n := engine.Declare(op, d), engine.Declare(op, engine.Descriptor[int]{Name: "m", Default: 7})
		show := func() string { return fmt.Sprint(v.Get(), n.Get()) }
		return []func() string{
			func() string { v.Get()[0] = 99; return show() }, // the default is each key's own
			func() string { v.Put([]int{2}); n.Put(3); return show() }, show, func() string { v.Clear(); n.Clear(); return show() },
		}
	})
	if d := cmp.Diff([]string{"a [1] 7", "a [2] 3", "b [1] 7", "a [1] 7"}, got); d != "" {
		t.Error(d)
	}
}

// State of another schema version is refused by name, and the same one is taken.
func TestSchemaVersions(t *testing.T) {
	job := func(version int) *engine.Pipeline {
		g := engine.New(engine.Config{})
		var rows engine.Rows[int]
		engine.ToRows(engine.Process(engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2})), func(v int) int { return v }), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
			n := engine.Declare(op, engine.Descriptor[int]{Name: "n", Version: version})
			return func(_ engine.Context, _, v int, _ func(int)) error { n.Put(v); return nil }
		}), &rows)
		return build(t, g)
	}
	for from := range 4 {
		p := job(from)
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		items := encode(t, mustCut(t, p, 1))
		for to := range 4 {
			err := job(to).Restore(t.Context(), items, engine.Adopt)
			if same := max(from, 1) == max(to, 1); same != (err == nil) || !same && !(errors.Is(err, state.ErrSchema) && strings.Contains(err.Error(), "store-1.n")) {
				t.Errorf("version %d from %d: %v", to, from, err)
			}
		}
	}
}

func TestStateOutsideOfARecordPanics(t *testing.T) {
	tag := engine.NewSideOutput[int]("side")
	for name, use := range map[string]func(op *engine.Keyed[string]) func(){
		"list": func(op *engine.Keyed[string]) func() { l := engine.ListOf[int](op, "s"); return func() { l.Add(1) } },
		"map": func(op *engine.Keyed[string]) func() {
			m := engine.MapOf[int, int](op, "s")
			return func() { m.Put(1, 1) }
		},
		"output": func(op *engine.Keyed[string]) func() { out := engine.OutputTo(op, tag); return func() { out(1) } },
	} {
		g := engine.New(engine.Config{})
		var outside func()
		src := engine.Map(engine.From(g, engine.Slice([]string{"a"})), func(v string) string { outside(); return v })
		var rows engine.Rows[string]
		engine.ToRows(engine.Process(engine.KeyBy(src, strings.ToUpper), func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
			outside = use(op)
			return func(engine.Context, string, string, func(string)) error { return nil }
		}), &rows)
		if err := build(t, g).Run(t.Context()); !errors.Is(err, engine.ErrNoKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunningNumbers(t *testing.T) {
	in := []int{3, 10, 5, 1, 20, 4}
	big := func(v int) bool { return v >= 10 }
	number := func(v int) int { return v }
	for name, c := range map[string]struct {
		stream func(engine.KeyedStream[bool, int]) engine.Stream[int]
		want   []int
	}{
		"count": {func(k engine.KeyedStream[bool, int]) engine.Stream[int] {
			return engine.Map(engine.Count(k), func(n int64) int { return int(n) })
		}, []int{1, 1, 2, 3, 2, 4}},
		"min": {func(k engine.KeyedStream[bool, int]) engine.Stream[int] { return engine.Min(k, number) }, []int{3, 10, 3, 1, 10, 1}},
		"max": {func(k engine.KeyedStream[bool, int]) engine.Stream[int] { return engine.Max(k, number) }, []int{3, 10, 5, 5, 20, 5}},
	} {
		got := collect(t, func(g *engine.Graph) engine.Stream[int] {
			return c.stream(engine.KeyBy(engine.From(g, engine.Slice(in)), big))
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Side outputs of a process function carry the record's time; what reads them may fail.
func TestOutputTo(t *testing.T) {
	run := func(fail bool) ([]string, error) {
		odd := engine.NewSideOutput[int]("odd")
		return tryCollect(t.Context(), t, func(g *engine.Graph) engine.Stream[string] {
			even := engine.Process(engine.KeyBy(engine.From(g, engine.Slice([]int{4, 5, 6, 7})), func(v int) int { return v % 2 }), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
				toOdd := engine.OutputTo(op, odd)
				return func(_ engine.Context, key, v int, emit func(int)) error {
					if key == 1 {
						toOdd(v)
						return nil
					}
					emit(v)
					return nil
				}
			})
			return engine.TryMap(engine.Side(even, odd), func(c engine.Context, v int) (string, error) {
				if fail {
					return "", errBoom
				}
				return fmt.Sprint(v, "@", c.Timestamp()), nil
			})
		})
	}
	if got, err := run(false); err != nil || !slices.Equal(got, []string{"5@1", "7@3"}) {
		t.Error(got, err)
	}
	if _, err := run(true); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "map-1") {
		t.Error(err)
	}
}
