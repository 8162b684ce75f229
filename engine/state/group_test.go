package state

import (
	"testing"
	"unsafe"
)

func numbers(t *testing.T, hash func(int64) uint64) *Table[int64, int64] {
	c, err := CodecOf[int64]()
	if err != nil {
		t.Fatal(err)
	}
	if hash == nil {
		hash = Hasher(c)
	}
	return NewTable(1, hash, c, c)
}

// Windows make and drop keys all the time: a group that was large once must not stay so.
func TestAGroupGivesMemoryBack(t *testing.T) {
	table := numbers(t, nil)
	for k := range int64(100_000) {
		table.Put(k, k)
	}
	for k := range int64(99_990) {
		table.Delete(k)
	}
	g := &table.groups[0]
	if len(g.index.slots) > 256 || cap(g.places) > 64 || len(g.places) > 2 || g.tree.height > 0 {
		t.Errorf("10 keys in %d slots, %d places of %d, %d levels", len(g.index.slots), len(g.places), cap(g.places), g.tree.height)
	}
	for k := range int64(100_000) {
		if v, ok := table.Get(k); ok != (k >= 99_990) || ok && v != k {
			t.Fatal(k, v, ok)
		}
	}
}

// Between two changes of size, the number of keys has to change a lot.
func TestAnIndexDoesNotThrash(t *testing.T) {
	table := numbers(t, nil)
	g := &table.groups[0]
	for k := range int64(3000) {
		table.Put(k, k)
		if k%10 != 0 {
			continue
		}
		slots := unsafe.SliceData(g.index.slots)
		for range 3 {
			for d := range k / 4 {
				table.Delete(k - d)
			}
			for d := range k / 4 {
				table.Put(k-d, k)
			}
		}
		if unsafe.SliceData(g.index.slots) != slots {
			t.Fatalf("%d keys: a quarter of them comes and goes, and the index with them", k+1)
		}
	}
}

// Bad hashes cost a group one more hash for each key, never a search through all of them.
func TestSearchesStayShort(t *testing.T) {
	inverse := uint64(0xf1de83e19937733d) // of the multiplier of slotHash
	for name, c := range map[string]struct {
		keys   int64
		hash   func(int64) uint64
		spread bool
	}{
		"mixed":              {5000, nil, false},
		"the key":            {5000, func(k int64) uint64 { return uint64(k) }, false},
		"windows of one key": {30, func(int64) uint64 { return 7 }, true},
		"one of 20 keys":     {5000, func(k int64) uint64 { return mixInt(uint64(k) / 20) }, true},
		"one home":           {5000, func(k int64) uint64 { return uint64(k) << 40 * inverse }, true},
	} {
		table := numbers(t, c.hash)
		for k := range c.keys {
			table.Put(k, k)
		}
		x := &table.groups[0].index
		if x.spread != c.spread || x.far > 150 || !x.tells() {
			t.Errorf("%s: spread %v, farthest key %d slots from home", name, x.spread, x.far)
		}
		for k := range c.keys {
			if v, ok := table.Take(k); !ok || v != k {
				t.Fatalf("%s: %d has %d, %v", name, k, v, ok)
			}
		}
	}
}
