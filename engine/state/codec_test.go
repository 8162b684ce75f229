package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine/state"
)

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
	// The remainder, whatever the number of groups is.
	groups := []int{state.Group(want[1], 1), state.Group(want[1], 7), state.Group(want[1], 128), state.Group(want[1], 1000)}
	if d := cmp.Diff([]int{0, 6, 28, 948}, groups); d != "" {
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
