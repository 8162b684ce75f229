package state_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// Sweeping round and round removes exactly what is to go, whatever else happens to the table; no view sees it.
func TestSweepRemovesWhatIsToGo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := newTable[int, int](rt, rapid.IntRange(1, 5).Draw(rt, "groups"))
		want := map[int]int{}
		var c state.Cursor
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, 200), 0, 60).Draw(rt, "put") {
				table.Put(k, k%7)
				want[k] = k % 7
			}
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, 200), 0, 20).Draw(rt, "delete") {
				table.Delete(k)
				delete(want, k)
			}
			view, before := table.Freeze(), maps.Clone(want)
			gone := rapid.IntRange(0, 7).Draw(rt, "gone")
			n := rapid.IntRange(1, 10).Draw(rt, "at once")
			for range 2*len(want) + 20 {
				table.Sweep(&c, n, func(v *int) bool { return *v == gone })
			}
			maps.DeleteFunc(want, func(_, v int) bool { return v == gone })
			if d := cmp.Diff(want, maps.Collect(table.All())); d != "" {
				rt.Fatal(d)
			}
			for k, v := range want {
				if got, ok := table.Get(k); !ok || got != v {
					rt.Fatal("lost", k)
				}
			}
			if d := cmp.Diff(before, maps.Collect(view.All())); d != "" {
				rt.Fatal("a view changed:", d)
			}
		}
	})
}
