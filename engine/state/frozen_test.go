package state_test

import (
	"runtime"
	"sync"
	"testing"
)

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

// A cut and the first write after it copy a page and what leads to it: at most 2 KiB, however many keys one group has.
func TestFirstWriteAfterFreezeCopiesLittle(t *testing.T) {
	cost := func(keys int) float64 {
		table := newTable[int64, int64](t, 1)
		for k := range int64(keys) {
			table.Put(k, 0)
		}
		const rounds = 200
		return allocated(func() {
			for round := range int64(rounds) {
				table.Freeze()
				*table.Ref(round * 31 % int64(keys))++
			}
		}) / rounds
	}
	for keys, limit := range map[int]float64{10: 640, 1000: 1024, 1_000_000: 2048} {
		if got := cost(keys); got > limit {
			t.Errorf("%d keys: %v bytes for a cut and a write", keys, got)
		}
	}
}

// A page is copied once after a cut, not at each write.
func TestSecondWriteAfterFreezeCopiesNothing(t *testing.T) {
	table := newTable[int64, int64](t, 1)
	for k := range int64(1000) {
		table.Put(k, 0)
	}
	table.Freeze()
	*table.Ref(500)++
	if n := testing.AllocsPerRun(10, func() { *table.Ref(500)++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// allocated is how many bytes f takes from the heap.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
