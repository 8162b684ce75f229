package state

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// indexed is an index with what it should know: entry i has hash i of the list.
type indexed struct {
	index
	hashes []uint32
}

func (x *indexed) hashOf(entry uint32) uint32 { return x.hashes[entry] }

func (x *indexed) add(hash uint32) {
	if x.full(len(x.hashes)) {
		x.resize(bitsFor(len(x.hashes)+1), len(x.hashes), x.hashOf)
	}
	x.index.add(hash, uint32(len(x.hashes)))
	x.hashes = append(x.hashes, hash)
}

// remove takes an entry out as a table does: the last one takes its place.
func (x *indexed) remove(entry int) {
	last := len(x.hashes) - 1
	x.index.remove(x.hashes[entry], uint32(entry), x.hashOf)
	if entry != last {
		x.rename(x.hashes[last], uint32(last), uint32(entry))
		x.hashes[entry] = x.hashes[last]
	}
	x.hashes = x.hashes[:last]
	if x.roomy(last) {
		x.resize(x.bits-2, last, x.hashOf)
	}
}

// check says what is wrong: every entry must be in one slot that a search for its hash comes by.
func (x *indexed) check(t interface{ Fatalf(string, ...any) }) {
	mask, used := x.mask(), 0
	run := uint32(0) // slots in use without a gap, up to the present one; twice round, so that the first runs are whole
	for i := range 2 * len(x.slots) {
		at := uint32(i) & mask
		w := x.slots[at]
		if run++; w == 0 {
			run = 0
		}
		if w == 0 || i < len(x.slots) {
			continue
		}
		used++
		hash := x.hashes[w&mask-1]
		if w&^mask != x.tag(hash) {
			t.Fatalf("slot %d has the tag %x for the hash %08x", at, w&^mask, hash)
		}
		if away := (at - x.home(hash)) & mask; away >= run || away > x.far {
			t.Fatalf("slot %d is %d from home, behind %d others; farthest %d", at, away, run-1, x.far)
		}
		if x.tells() && (x.homeAt(at) != x.home(hash) || x.hashAt(at)>>8 != hash>>8) {
			t.Fatalf("slot %d tells home %d and hash %08x of %08x", at, x.homeAt(at), x.hashAt(at), hash)
		}
	}
	if used != len(x.hashes) || 4*used > 3*len(x.slots) {
		t.Fatalf("%d slots of %d for %d keys", used, len(x.slots), len(x.hashes))
	}
}

// Hashes of any kind: all bits, few values, one home with many tags (far from home, where slots cannot tell the hash), and
// homes at the end of the slots, from where searches go on at the beginning.
func TestIndexFindsEveryEntry(t *testing.T) {
	for name, kind := range map[string]func(uint32) uint32{
		"mixed":     func(v uint32) uint32 { return v },
		"few":       func(v uint32) uint32 { return v << 30 },
		"one home":  func(v uint32) uint32 { return v >> 12 },
		"last home": func(v uint32) uint32 { return ^(v >> 12) },
	} {
		t.Run(name, func(t *testing.T) {
			told, asked := false, false
			rapid.Check(t, func(rt *rapid.T) {
				x, number := &indexed{}, rapid.Uint64().Draw(rt, "first")
				next := func() uint32 { number++; return uint32(mixInt(number)) }
				some := rapid.SampledFrom([]int{1, 5, 300})
				rt.Repeat(map[string]func(*rapid.T){
					"add": func(rt *rapid.T) {
						for range min(some.Draw(rt, "n"), 900-len(x.hashes)) {
							x.add(kind(next()))
						}
					},
					"remove": func(rt *rapid.T) {
						for range min(some.Draw(rt, "n"), len(x.hashes)) {
							x.remove(int(next()) % len(x.hashes))
						}
					},
					"": func(rt *rapid.T) {
						x.check(rt)
						told, asked = told || x.tells(), asked || !x.tells()
					},
				})
			})
			if !told || asked != (name != "mixed") {
				t.Error("the slots told", told, "were asked", asked)
			}
		})
	}
}

// Above 2^24 slots there are not enough bits for a slot to tell the hash.
func TestTagsKeepClearOfEntries(t *testing.T) {
	for size := uint8(minBits); size <= maxBits; size++ {
		x := index{bits: size}
		for _, hash := range []uint32{0, 1, 0x89abcdef, ^uint32(0)} {
			if tag := x.tag(hash); bits.TrailingZeros32(tag) < int(size) || x.home(hash) >= 1<<size {
				t.Errorf("%d bits: tag %x, home %x", size, tag, x.home(hash))
			}
		}
		if n := 3 << size / 4; bitsFor(n) != size || bitsFor(n+1) != size+1 {
			t.Errorf("%d keys: %d bits", n, bitsFor(n))
		}
	}
}
