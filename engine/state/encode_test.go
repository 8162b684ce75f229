package state_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// plainEncoding is what EncodeGroup promises, in the plainest way.
func plainEncoding[K comparable](t interface{ Fatal(...any) }, f *state.Frozen[K, int64], number int) []byte {
	keys := mustCodec[K](t)
	type encoded struct{ key, entry []byte }
	var all []encoded
	for k, v := range f.Group(number) {
		key, err := keys.Append(nil, &k)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, encoded{key, binary.AppendVarint(slices.Clip(key), v)})
	}
	slices.SortFunc(all, func(a, b encoded) int { return bytes.Compare(a.key, b.key) })
	b := binary.AppendUvarint(binary.AppendUvarint([]byte{'G', 1}, uint64(number)), uint64(len(all)))
	for _, e := range all {
		b = append(b, e.entry...)
	}
	return b
}

func compareEncodings[K comparable](rt *rapid.T, n int, key func(i int) K) {
	table := newTable[K, int64](rt, 2)
	for i := range n {
		table.Put(key(i), int64(i))
	}
	f := table.Freeze()
	for g := range f.Groups() {
		got, err := f.EncodeGroup(g)
		if err != nil {
			rt.Fatal(err)
		}
		if want := plainEncoding(rt, f, g); !bytes.Equal(want, got) {
			rt.Fatalf("group %d of %d keys: got %x, want %x", g, n, got, want)
		}
	}
}

// Short lists and long ones are sorted in different ways, and so are keys that differ early, late, or in their length.
func TestEntriesAreInTheOrderOfTheirKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 100, 3000}).Draw(rt, "keys")
		same := strings.Repeat("x", rapid.IntRange(0, 30).Draw(rt, "same"))
		step := rapid.Int64().Draw(rt, "step") | 1
		compareEncodings(rt, n, func(i int) int64 { return int64(i) * step })
		compareEncodings(rt, n, func(i int) string { return same + strings.Repeat("y", i%20) + fmt.Sprint(i) })
		compareEncodings(rt, n, func(i int) float64 { return float64(i) / 3 })
		compareEncodings(rt, n, func(i int) [3]uint8 { return [3]uint8{uint8(i), uint8(i >> 8), 0} })
	})
}

// Encoding allocates its result, and scratch space that the groups share: nothing for each entry.
func TestEncodingDoesNotAllocateForEachEntry(t *testing.T) {
	table := newTable[int64, int64](t, 1)
	for k := range int64(10_000) {
		table.Put(k, k)
	}
	f := table.Freeze()
	item, err := f.EncodeGroup(0)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = f.EncodeGroup(0) }); n > 50 {
		t.Errorf("%v allocations for 10 000 entries", n)
	}
	back, size := table.Empty(), state.GroupSize{Keys: 10_000}
	decode := func() {
		back.Clear()
		if err := back.DecodeGroup(size, item); err != nil {
			t.Fatal(err)
		}
	}
	// A page for 16 entries, and what leads to the pages; an index that never grows.
	if n := testing.AllocsPerRun(1, decode); n > 10_000/16*1.3 {
		t.Errorf("%v allocations to read 10 000 entries", n)
	}
	if n := allocated(decode); n > 26*10_000 {
		t.Errorf("%v bytes to read 10 000 entries", n)
	}
}
