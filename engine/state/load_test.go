package state_test

import (
	"bytes"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// Whoever owns some of the key groups loads those alone.
func TestSomeGroupsOfATableAreLoaded(t *testing.T) {
	table, want := newTable[string, int64](t, 8), map[string]int64{}
	wanted := func(group int) bool { return group%3 == 1 }
	for i, k := range names(shuffled(500)) {
		table.Put(k, int64(i))
		if g := table.GroupOf(k); g != state.Group(table.Hash(k), 8) {
			t.Fatal("another group", g)
		} else if wanted(g) {
			want[k] = int64(i)
		}
	}
	f := table.Freeze()
	if f.Len() != 500 {
		t.Error("keys in the view:", f.Len())
	}
	m, _, err := state.DecodeManifest(f.AppendManifest(nil))
	if err != nil {
		t.Fatal(err)
	}
	part := table.Empty()
	for _, size := range m.Used {
		if !wanted(size.Number) {
			continue
		}
		item, err := f.EncodeGroup(size.Number)
		if err != nil {
			t.Fatal(err)
		}
		if err := part.DecodeGroup(size, item); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, maps.Collect(part.All())); d != "" || part.Len() != len(want) {
		t.Error(d, part.Len())
	}
}

// Each key is where the manifest says, once, in the group of its hash.
func TestDecodeGroupRefuses(t *testing.T) {
	item := func(b ...byte) []byte { return append([]byte{'G', 1}, b...) }
	for name, c := range map[string]struct {
		size state.GroupSize
		item []byte
	}{
		"a group that the table does not have": {state.GroupSize{Number: 9, Keys: 1}, item(9, 1, 2, 2)},
		"a key of another group":               {state.GroupSize{Number: 3, Keys: 1}, item(3, 1, 2, 2)},
		"a key twice":                          {state.GroupSize{Number: 1, Keys: 2}, item(1, 2, 2, 2, 2, 2)},
		"more keys than bytes":                 {state.GroupSize{Number: 1, Keys: 1 << 31}, item(1, 0x80, 0x80, 0x80, 0x80, 8, 2, 2)},
		"bytes behind the last":                {state.GroupSize{Number: 1, Keys: 1}, item(1, 1, 2, 2, 2)},
	} {
		table := newTable[int64, int64](t, 4)
		if g := table.GroupOf(1); g != 1 {
			t.Fatal("1 is in group", g)
		}
		if err := table.DecodeGroup(c.size, c.item); !errors.Is(err, state.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

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
