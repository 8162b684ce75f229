package state_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/state"
)

func mustCodec[T any](t interface{ Fatal(...any) }) state.Codec[T] {
	c, err := state.CodecOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newTable[K comparable, V any](t interface{ Fatal(...any) }, groups int) *state.Table[K, V] {
	k := mustCodec[K](t)
	return state.NewTable(groups, state.Hasher(k), k, mustCodec[V](t))
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

// Tables of many keys, which grow, shrink and are cut, with good hashes and with bad ones.
func TestLargeTablesAgreeWithPlainMaps(t *testing.T) {
	c := mustCodec[int](t)
	hashes := map[string]func(int) uint64{
		"the table's": state.Hasher(c),
		"one":         func(int) uint64 { return 42 },
		"three":       func(k int) uint64 { return uint64(k % 3) },
		"the key":     func(k int) uint64 { return uint64(k) },
		"high bits":   func(k int) uint64 { return uint64(k) << 56 },
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				table := state.NewTable(rapid.IntRange(1, 4).Draw(rt, "groups"), hash, c, c)
				checkLargeTable(rt, table)
			})
		})
	}
}

func checkLargeTable(rt *rapid.T, table *state.Table[int, int]) {
	const domain = 1000
	want := map[int]int{}
	var view *state.Frozen[int, int]
	var seen map[int]int
	// Runs of keys that begin anywhere and go round, so that what one step adds, others take away in part.
	run := func(rt *rapid.T, do func(k int)) {
		first, n := rapid.IntRange(0, domain-1).Draw(rt, "first"), rapid.SampledFrom([]int{1, 20, 400}).Draw(rt, "n")
		for i := range n {
			do((first + 7*i) % domain)
		}
	}
	rt.Repeat(map[string]func(*rapid.T){
		"upsert": func(rt *rapid.T) {
			run(rt, func(k int) {
				_, had := want[k]
				p, fresh := table.UpsertHashed(table.Hash(k), k)
				if fresh == had {
					rt.Fatal("upsert disagrees", k)
				}
				*p += k
				want[k] += k
			})
		},
		"take": func(rt *rapid.T) {
			run(rt, func(k int) {
				w, had := want[k]
				if v, ok := table.TakeHashed(table.Hash(k), k); ok != had || v != w {
					rt.Fatal("take disagrees", k)
				}
				delete(want, k)
			})
		},
		"change in place": func(rt *rapid.T) {
			run(rt, func(k int) {
				if p := table.RefHashed(table.Hash(k), k); p != nil {
					*p++
					want[k]++
				}
			})
		},
		"clear": func(*rapid.T) {
			table.Clear()
			clear(want)
		},
		"freeze": func(*rapid.T) { view, seen = table.Freeze(), maps.Clone(want) },
		"": func(rt *rapid.T) {
			for k := range domain {
				w, had := want[k]
				if v, ok := table.GetHashed(table.Hash(k), k); ok != had || v != w {
					rt.Fatal("get disagrees", k, v, ok)
				}
			}
			if table.Len() != len(want) || !maps.Equal(want, maps.Collect(table.All())) {
				rt.Fatal("other entries", table.Len(), len(want))
			}
			if view != nil && (view.Len() != len(seen) || !maps.Equal(seen, maps.Collect(view.All()))) {
				rt.Fatal("a view changed")
			}
		},
	})
	if view != nil && !maps.Equal(seen, maps.Collect(load(rt, view, table).All())) {
		rt.Fatal("read back another table")
	}
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
