package state_test

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/state"
)

func newTable[K comparable, V any](t interface{ Fatal(...any) }, groups int) *state.Table[K, V] {
	k, err := state.CodecOf[K]()
	if err != nil {
		t.Fatal(err)
	}
	v, err := state.CodecOf[V]()
	if err != nil {
		t.Fatal(err)
	}
	return state.NewTable(groups, state.Hasher(k), k, v)
}

// load writes a frozen table and reads it into an empty one like like.
func load[K comparable, V any](t interface{ Fatal(...any) }, f *state.Frozen[K, V], like *state.Table[K, V]) *state.Table[K, V] {
	m, rest, err := state.DecodeManifest(f.AppendManifest(nil))
	if err != nil || len(rest) != 0 {
		t.Fatal("manifest:", err, rest)
	}
	out := like.Empty()
	if err := out.Accepts(m); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Used {
		b, err := f.EncodeGroup(s.Number)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.DecodeGroup(s, b); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A table and every frozen view of it agree with plain maps, whatever was done since.
func TestTableAgreesWithPlainMaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := newTable[int, []int](rt, rapid.IntRange(1, 5).Draw(rt, "groups"))
		want := map[int][]int{}
		type view struct {
			frozen *state.Frozen[int, []int]
			want   map[int][]int
		}
		var views []view
		key := rapid.IntRange(0, 60)
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				k, v := key.Draw(rt, "k"), rapid.SliceOfN(rapid.Int(), 1, 3).Draw(rt, "v")
				table.Put(k, slices.Clone(v))
				want[k] = v
			},
			"change in place": func(rt *rapid.T) {
				k := key.Draw(rt, "k")
				if p := table.Ref(k); p != nil {
					(*p)[0]++
					w := slices.Clone(want[k])
					w[0]++
					want[k] = w
				}
			},
			"delete": func(rt *rapid.T) {
				k := key.Draw(rt, "k")
				_, had := want[k]
				if table.Delete(k) != had {
					rt.Fatal("delete disagrees")
				}
				delete(want, k)
			},
			"freeze": func(*rapid.T) {
				views = append(views, view{table.Freeze(), maps.Clone(want)})
			},
			"": func(rt *rapid.T) {
				if d := cmp.Diff(want, maps.Collect(table.All())); d != "" || table.Len() != len(want) {
					rt.Fatal("table:", d, table.Len())
				}
				for _, v := range views {
					if d := cmp.Diff(v.want, maps.Collect(v.frozen.All())); d != "" {
						rt.Fatal("frozen view changed:", d)
					}
				}
			},
		})
		for _, v := range views {
			if d := cmp.Diff(v.want, maps.Collect(load(rt, v.frozen, table).All())); d != "" {
				rt.Fatal("read back:", d)
			}
		}
	})
}

// Content alone decides the bytes: another history that ends the same gives the same chunks.
func TestBytesDependOnContentAlone(t *testing.T) {
	a, b := newTable[string, int64](t, 4), newTable[string, int64](t, 4)
	names := []string{"x", "yy", "zzz", "", "a", "b", "c", "d", "e", "f"}
	for i, n := range names {
		a.Put(n, int64(i))
		b.Put(names[len(names)-1-i], -1)
	}
	b.Put("gone", 7)
	for i, n := range names {
		b.Put(n, int64(i))
	}
	b.Delete("gone")
	fa, fb := a.Freeze(), b.Freeze()
	if !bytes.Equal(fa.AppendManifest(nil), fb.AppendManifest(nil)) {
		t.Error("manifests differ")
	}
	for g := range fa.Groups() {
		x, err := fa.EncodeGroup(g)
		if err != nil {
			t.Fatal(err)
		}
		y, err := fb.EncodeGroup(g)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("group %d differs", g)
		}
	}
}

// Views are encoded by several goroutines while the table goes on; the race detector watches.
func TestFrozenIsEncodedWhileTheTableChanges(t *testing.T) {
	table := newTable[int, map[string]int](t, 8)
	for i := range 1000 {
		table.Put(i, map[string]int{"n": 0})
	}
	var wg sync.WaitGroup
	for round := range 5 {
		f := table.Freeze()
		wg.Go(func() {
			for _, m := range load(t, f, newTable[int, map[string]int](t, 8)).All() {
				if m["n"] != round {
					t.Errorf("round %d: a value of round %d", round, m["n"])
					return
				}
			}
		})
		for i := range 1000 {
			(*table.Ref(i))["n"]++
		}
	}
	wg.Wait()
}

// Freezing and the writes after it copy pages, never a group: the allocation of one write does not grow with the table.
func TestFirstWriteAfterFreezeCopiesOnePage(t *testing.T) {
	cost := func(keys int) float64 {
		table := newTable[int, int64](t, 1)
		for i := range keys {
			table.Put(i, 0)
		}
		return testing.AllocsPerRun(50, func() {
			table.Freeze()
			*table.Ref(keys / 2)++
		})
	}
	// The view, its groups, one page, one page list.
	if a, b := cost(100), cost(100_000); a != b || a > 5 {
		t.Errorf("allocations of freeze and one write: %v for 100 keys, %v for 100 000", a, b)
	}
}

func TestHotOperationsDoNotAllocate(t *testing.T) {
	type composite struct {
		A string
		B int64
	}
	table := newTable[composite, int64](t, 16)
	k := composite{"key", 4}
	table.Put(k, 1)
	if n := testing.AllocsPerRun(100, func() {
		p, _ := table.Upsert(k)
		*p++
		_, _ = table.Get(k)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The hash is part of the stored format.
func TestHashIsFrozen(t *testing.T) {
	c, err := state.CodecOf[int]()
	if err != nil {
		t.Fatal(err)
	}
	got := []uint64{state.Hash64(""), state.Hash64("ABE"), state.Hasher(c)(0), state.Hasher(c)(-1)}
	want := []uint64{0xefd01f60ba992926, 0xe5f0947738f5aa9c, 0x9ca066f1a4ab2eea, 0x25b775faeca8f520}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

type deep struct {
	Name  string
	count int64
	F32   float32
	F64   float64
	M     map[string][]uint16
	P     *int64
	At    time.Time
	Set   map[int8]struct{}
	Arr   [2]bool
}

func TestCodecRoundTrip(t *testing.T) {
	c, err := state.CodecOf[deep]()
	if err != nil {
		t.Fatal(err)
	}
	big := int64(-1 << 63)
	in := deep{
		"n", 1<<62 + 1, 1.5, -0.25,
		map[string][]uint16{"a": nil, "b": {}, "c": {65535}},
		&big,
		time.UnixMilli(978312240000).UTC(),
		map[int8]struct{}{-128: {}, 127: {}},
		[2]bool{true, false},
	}
	b, err := c.Append(nil, &in)
	if err != nil {
		t.Fatal(err)
	}
	var out deep
	rest, err := c.Decode(b, &out)
	if err != nil || len(rest) > 0 {
		t.Fatal(err, rest)
	}
	if d := cmp.Diff(in, out, cmp.AllowUnexported(deep{})); d != "" {
		t.Error(d)
	}
	copied, err := c.Clone(&in)
	if err != nil {
		t.Fatal(err)
	}
	in.M["a"] = []uint16{1}
	if copied.M["a"] != nil {
		t.Error("a clone shares its map")
	}
}

func TestCodecRefusesWhatItCannotKeep(t *testing.T) {
	type list struct{ Next *list }
	for name, err := range map[string]error{
		"an interface":              second(state.CodecOf[struct{ A any }]()),
		"a channel":                 second(state.CodecOf[chan int]()),
		"a function in a slice":     second(state.CodecOf[[]func()]()),
		"a type that holds itself":  second(state.CodecOf[list]()),
		"elements without any size": second(state.CodecOf[[]struct{}]()),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzDecodeManifest(f *testing.F) {
	table := newTable[string, int64](f, 4)
	table.Put("a", 1)
	table.Put("b", 2)
	f.Add(table.Freeze().AppendManifest(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := state.DecodeManifest(b)
		if err == nil && len(m.Used) > m.Groups {
			t.Error("more groups in use than there are")
		}
	})
}

func FuzzDecodeGroup(f *testing.F) {
	table := newTable[string, deep](f, 1)
	table.Put("a", deep{Name: "x", M: map[string][]uint16{"k": {1, 2}}, At: time.UnixMilli(5).UTC()})
	table.Put("b", deep{Set: map[int8]struct{}{1: {}}})
	b, err := table.Freeze().EncodeGroup(0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, 2)
	f.Add([]byte("G\x01\x00\x01\x01a"), 1)
	f.Fuzz(func(t *testing.T, b []byte, keys int) {
		out := newTable[string, deep](t, 1)
		if out.DecodeGroup(state.GroupSize{Keys: keys}, b) != nil {
			return
		}
		// What is accepted is written again, and that reads back to the same bytes.
		again, err := out.Freeze().EncodeGroup(0)
		if err != nil {
			t.Fatal(err)
		}
		if out.Len() == 0 {
			return
		}
		back := out.Empty()
		if err := back.DecodeGroup(state.GroupSize{Keys: keys}, again); err != nil {
			t.Fatal(err)
		}
		third, err := back.Freeze().EncodeGroup(0)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("encoding is not stable: %v", err)
		}
	})
}
