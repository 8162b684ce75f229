package worker

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// packAll packs items in order.
func packAll(names []string, items map[string][]byte) []piece {
	var pieces []piece
	p := packer{emit: func(x piece) error { pieces = append(pieces, x); return nil }}
	for _, name := range names {
		_ = p.add(name, items[name])
	}
	_ = p.flush()
	return pieces
}

func TestWhatIsPackedComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(smallItem-2, smallItem+2), rapid.SampledFrom([]int{packSize - 1, packSize + 1}))
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.String(), rapid.Just(packName+"0"), rapid.StringMatching(`window-1/[0-9]{5}`)), 0, 80,
			rapid.ID[string]).Draw(t, "names")
		items := make(map[string][]byte, len(names))
		for i, name := range names {
			items[name] = bytes.Repeat([]byte{byte(i)}, size.Draw(t, "size"))
		}
		pieces := packAll(names, items)
		got, err := unpack(pieces)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(items, got, bytes.Equal) {
			t.Fatal("other items came back")
		}
		seen := map[string]bool{}
		for _, p := range pieces {
			if seen[p.name] {
				t.Fatalf("two pieces are named %q", p.name)
			}
			seen[p.name] = true
		}
		if len(pieces) == 0 {
			t.Fatal("a state without pieces looks like a task that was not part of the checkpoint")
		}
		again := packAll(names, items)
		if !slices.EqualFunc(pieces, again, func(a, b piece) bool { return a.name == b.name && bytes.Equal(a.data, b.data) }) {
			t.Fatal("the same items gave other pieces")
		}
	})
}

// Many key groups with little in each become few chunks; a large one stays one of its own.
func TestSmallItemsShareChunks(t *testing.T) {
	var names []string
	items := map[string][]byte{}
	for i := range 1000 {
		name := fmt.Sprintf("window-1/%05d", i)
		names = append(names, name)
		items[name] = bytes.Repeat([]byte{1}, 1000)
	}
	items["window-1/00500"] = make([]byte, smallItem+1)
	var got []string
	for _, p := range packAll(names, items) {
		got = append(got, p.name)
		if limit := packSize + smallItem + 20; len(p.data) > limit {
			t.Errorf("%s has %d bytes, more than %d", p.name, len(p.data), limit)
		}
	}
	if want := []string{"+pack-0", "window-1/00500", "+pack-1", "+pack-2", "+pack-3"}; !slices.Equal(got, want) {
		t.Errorf("chunks %v, want %v", got, want)
	}
}

func TestAPackIsReadStrictly(t *testing.T) {
	whole := addToPack(addToPack(nil, "a", []byte("xyz")), "b", nil)
	tests := map[string]struct {
		pieces []piece
		says   string
	}{
		"nothing at all":                  {[]piece{{packName + "0", nil}}, "unknown version"},
		"another version":                 {[]piece{{packName + "0", []byte{9, 0, 0}}}, "unknown version"},
		"cut short within a name":         {[]piece{{packName + "0", []byte{1, 4, 'a'}}}, "ends within an item"},
		"cut short within data":           {[]piece{{packName + "0", whole[:5]}}, "ends within an item"},
		"a length beyond 64 bits":         {[]piece{{packName + "0", append([]byte{1}, bytes.Repeat([]byte{0xff}, 11)...)}}, "ends within an item"},
		"a length of almost 64 bits":      {[]piece{{packName + "0", append([]byte{1}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)}}, "ends within an item"},
		"an item twice in one pack":       {[]piece{{packName + "0", addToPack(slices.Clone(whole), "a", nil)}}, `"a" stands twice`},
		"an item in a pack and by itself": {[]piece{{packName + "0", whole}, {"b", nil}}, `"b" stands twice`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := unpack(tt.pieces)
			if !errors.Is(err, errPack) || !strings.Contains(err.Error(), tt.says) {
				t.Error(err)
			}
		})
	}
}

// frozen is a pack as it was first written: what is stored today is readable for ever.
var frozen = []byte("\x01\x08source-1\x03S\x01\x02\x04rows\x00")

func TestAPackOfTheFirstReleaseIsRead(t *testing.T) {
	items, err := unpack([]piece{{packName + "0", frozen}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"source-1": {'S', 1, 2}, "rows": {}}
	if d := cmp.Diff(want, items); d != "" {
		t.Error(d)
	}
	if b := addToPack(addToPack(nil, "source-1", []byte{'S', 1, 2}), "rows", nil); !bytes.Equal(b, frozen) {
		t.Errorf("written as %q", b)
	}
}

// FuzzUnpack: the decoder never panics, and what it accepts it would write so again, but for lengths in more bytes than
// they need.
func FuzzUnpack(f *testing.F) {
	f.Add(frozen)
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte{1, 0x80, 0, 0})
	f.Add(addToPack(nil, packName+"0", bytes.Repeat([]byte{7}, 300)))
	f.Fuzz(func(t *testing.T, pack []byte) {
		items, err := unpack([]piece{{packName + "0", pack}})
		if err != nil {
			if !errors.Is(err, errPack) {
				t.Fatal(err)
			}
			return
		}
		total := 0
		var again []byte
		again = append(again, packVersion)
		err = eachInPack(pack, func(name string, data []byte) error {
			total += len(name) + len(data)
			again = addToPack(again, name, data)
			return nil
		})
		if err != nil || total > len(pack) || len(again) > len(pack) {
			t.Fatalf("%d bytes of items in a pack of %d: %v", total, len(pack), err)
		}
		back, err := unpack([]piece{{packName + "0", again}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(items, back); d != "" {
			t.Fatal(d)
		}
	})
}
