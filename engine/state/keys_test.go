package state_test

import (
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/tidemark-stream/tidemark/engine/state"
)

type reading struct{ F float64 }

// Keys are the same if they are encoded the same: a NaN is found again, and stays what it is over a restore. With the hash
// that all keys share, nothing but the comparison tells keys apart.
func TestFloatKeysAreTheirBits(t *testing.T) {
	c := mustCodec[reading](t)
	keys := []reading{
		{math.NaN()},
		{math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)},
		{0},
		{math.Copysign(0, -1)},
	}
	for i := range 20 {
		keys = append(keys, reading{1 + float64(i)/3})
	}
	shared := func(reading) uint64 { return 1 }
	for name, hash := range map[string]func(reading) uint64{"": state.Hasher(c), "a shared hash": shared} {
		table := state.NewTable(2, hash, c, mustCodec[int64](t))
		for range 3 {
			for i, k := range keys {
				p, _ := table.Upsert(k)
				*p += int64(i)
			}
		}
		for where, table := range map[string]*state.Table[reading, int64]{"": table, "restored": load(t, table.Freeze(), table)} {
			if table.Len() != len(keys) {
				t.Errorf("%s %s: %d keys", name, where, table.Len())
			}
			for i, k := range keys {
				if v, ok := table.Take(k); !ok || v != int64(3*i) {
					t.Errorf("%s %s: %v has %d, %v", name, where, k, v, ok)
				}
			}
			if table.Len() != 0 {
				t.Errorf("%s %s: %d keys left", name, where, table.Len())
			}
		}
	}
}

// A zone without a name comes back from its encoding as another pointer; by == the key would never be found again.
func TestTimeKeysAreFoundAfterARestore(t *testing.T) {
	zone := func() time.Time { return time.UnixMilli(978312240000).In(time.FixedZone("", 5*3600)) }
	table := newTable[time.Time, int64](t, 4)
	table.Put(zone(), 7)
	if v, ok := load(t, table.Freeze(), table).Get(zone()); !ok || v != 7 {
		t.Error(v, ok)
	}
}

// == leaves blank fields out, the encoding does not.
func TestBlankFieldsCount(t *testing.T) {
	type key struct {
		A int64
		_ bool
	}
	type filled struct {
		A int64
		B bool
	}
	set := filled{1, true}
	table := state.NewTable(1, func(key) uint64 { return 1 }, mustCodec[key](t), mustCodec[int64](t))
	table.Put(key{A: 1}, 1)
	table.Put(*(*key)(unsafe.Pointer(&set)), 2)
	if table.Len() != 2 {
		t.Error(table.Len(), "keys")
	}
}

// The windows of one key share its hash; the group of a table then places keys by one of its own.
type window struct{ Key, Start int64 }

func windows(t interface{ Fatal(...any) }, groups int) *state.Table[window, int64] {
	hash := state.Hasher(mustCodec[int64](t))
	return state.NewTable(groups, func(w window) uint64 { return hash(w.Key) }, mustCodec[window](t), mustCodec[int64](t))
}

// A table that takes over another one finds its keys, also where windows share a hash.
func TestATableBecomesAnother(t *testing.T) {
	table := windows(t, 4)
	for k := range int64(200) {
		table.Put(window{k % 2, k}, k)
	}
	other := load(t, table.Freeze(), table)
	other.Put(window{7, 7}, 7)
	table.Become(other)
	for k := range int64(200) {
		if v, ok := table.Get(window{k % 2, k}); !ok || v != k {
			t.Fatal(k, v, ok)
		}
	}
	if v, ok := table.Take(window{7, 7}); !ok || v != 7 || table.Len() != 200 {
		t.Error(v, ok, table.Len())
	}
}

// Who asks for the group of a key may do so beside the owner of the table; the race detector watches.
func TestAnyoneAsksForTheGroupOfAKey(t *testing.T) {
	table := newTable[window, int64](t, 8)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			hash := state.Hasher(mustCodec[window](t))
			for k := range int64(1000) {
				if w := (window{k, -k}); table.GroupOf(w) != state.Group(hash(w), 8) {
					t.Errorf("%v is in group %d", w, table.GroupOf(w))
					return
				}
			}
		})
	}
	for k := range int64(1000) {
		table.Put(window{k, k}, k)
	}
	wg.Wait()
}

func allocations[K comparable](table *state.Table[K, int64], keys ...K) float64 {
	for _, k := range keys {
		table.Put(k, 1)
	}
	return testing.AllocsPerRun(100, func() {
		for _, k := range keys {
			p, _ := table.Upsert(k)
			*p++
			_, _ = table.Get(k)
			_ = table.Ref(k)
			_, _ = table.Take(k)
			table.Put(k, 1)
			h := table.Hash(k)
			_, _ = table.GetHashed(h, k)
			_, _ = table.UpsertHashed(h, k)
		}
	})
}

func TestHotOperationsDoNotAllocate(t *testing.T) {
	type composite struct {
		A string
		B int64
	}
	shared := make([]window, 100)
	for i := range shared {
		shared[i] = window{1, int64(i)}
	}
	for name, n := range map[string]float64{
		"numbers":        allocations(newTable[int64, int64](t, 16), 1, 2, 3),
		"strings":        allocations(newTable[string, int64](t, 16), "a", "b"),
		"structs":        allocations(newTable[composite, int64](t, 16), composite{"a", 1}, composite{"b", 2}),
		"floats":         allocations(newTable[float64, int64](t, 16), 1, math.NaN()),
		"windows":        allocations(windows(t, 16), shared...),
		"groups by odds": allocations(newTable[int64, int64](t, 7), 1, 2, 3),
	} {
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
