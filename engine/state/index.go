package state

const (
	// minBits makes the first index of a group 8 slots, 32 bytes.
	minBits = 3
	// maxBits bounds an index to 2^31 slots, so a group to 3·2^29 keys.
	maxBits = 31
	// keepBits is the size below which an index never shrinks: 64 slots, 256 bytes.
	keepBits = 6
	// hashBits is how much of its hash a slot and its place together remember, if the slot is near its home: within reach.
	hashBits = 24
	// reach is how far from home a key may lie for its slot to tell the home. With well-mixed hashes the farthest of
	// three million keys at a load of 3/4 lies near 200.
	reach = 1 << (32 - hashBits)
	// maxTwins is how many keys of a group may share the part of their hash that is in a slot: no nine of a million do by
	// chance, but the windows of one key all do, and each lookup would compare with half of them.
	maxTwins = 8
)

// index says where the keys of one group are: open addressing with linear probing in a power of two of slots, at most
// 3/4 of them in use.
//
//	slot  [ tag: the hash below the highest 8 bits that it can spare | entry + 1 ]     0: empty
//	       32-bits                                                     bits
//
// The home of a key is the highest bits of its hash. The 8 highest bits of a tag are the 8 lowest of the home, so that a
// slot and its place give back 24 bits of the hash: growing, shrinking and deleting need no key, as long as no key lies
// farther than reach from its home and there are at most 2^24 slots. Otherwise they ask for the hash of the key again.
type index struct {
	slots []uint32
	far   uint32 // no key lies farther from its home
	bits  uint8  // len(slots) is 1<<bits, or 0
	// spread says that the hashes come from [Table.spread]: too many keys of the group share those of the table.
	spread bool
}

// home is the slot where the search for a hash begins.
func (x *index) home(hash uint32) uint32 { return hash >> (-x.bits & 31) }

// tag is what the slots of a hash begin with.
func (x *index) tag(hash uint32) uint32 { return hash >> (32 - hashBits) << (x.bits & 31) }

// mask covers the entry in a slot, and the number of a slot.
func (x *index) mask() uint32 { return uint32(len(x.slots) - 1) }

// full says whether one key more than n needs more slots.
func (x *index) full(n int) bool { return n >= len(x.slots)/4*3 }

// bitsFor is the size of an index for n keys.
func bitsFor(n int) uint8 {
	bits := uint8(minBits)
	for n > 3<<bits/4 {
		bits++
	}
	return bits
}

// add notes where an entry is, and returns how many slots on the way have the same tag. There must be room.
func (x *index) add(hash, entry uint32) (twins int) {
	mask, tag, at := x.mask(), x.tag(hash), x.home(hash)
	far := uint32(0)
	for ; x.slots[at] != 0; far++ {
		if (x.slots[at]^tag)&^mask == 0 {
			twins++
		}
		at = (at + 1) & mask
	}
	x.slots[at] = tag | (entry + 1)
	x.far = max(x.far, far)
	return twins
}

// slotOf is the slot of an entry that is there.
func (x *index) slotOf(hash, entry uint32) uint32 {
	mask, at := x.mask(), x.home(hash)
	for x.slots[at]&mask != entry+1 {
		at = (at + 1) & mask
	}
	return at
}

// rename notes that an entry has moved.
func (x *index) rename(hash, from, to uint32) {
	at := x.slotOf(hash, from)
	x.slots[at] = x.slots[at]&^x.mask() | (to + 1)
}

// remove forgets an entry: what lies behind it moves up, unless it would come before its home. The function is asked for
// hashes that the slots do not tell.
func (x *index) remove(hash, entry uint32, hashOf func(entry uint32) uint32) {
	mask := x.mask()
	hole := x.slotOf(hash, entry)
	for at := (hole + 1) & mask; x.slots[at] != 0; at = (at + 1) & mask {
		var home uint32
		if x.tells() {
			home = x.homeAt(at)
		} else {
			home = x.home(hashOf(x.slots[at]&mask - 1))
		}
		if (at-home)&mask >= (at-hole)&mask {
			x.slots[hole] = x.slots[at]
			hole = at
		}
	}
	x.slots[hole] = 0
}

// crowded says whether the hashes are not good enough, after one was added that met so many twins.
func (x *index) crowded(twins int) bool {
	return (twins >= maxTwins || x.far >= reach) && !x.spread && x.bits <= hashBits
}

// forget makes the next resize ask for every hash.
func (x *index) forget() { x.far = reach }

// tells says whether a slot and its place give back the hash of its key.
func (x *index) tells() bool { return x.far < reach && x.bits <= hashBits }

// homeAt is the home of what lies in a slot.
func (x *index) homeAt(at uint32) uint32 { return (at - (at-x.slots[at]>>hashBits)%reach) & x.mask() }

// hashAt is the hash of what lies in a slot, without its lowest 8 bits.
func (x *index) hashAt(at uint32) uint32 {
	return (x.homeAt(at)<<(-x.bits&31) | x.slots[at]<<(32-hashBits)>>x.bits) &^ (reach - 1)
}

// resize makes an index of another size for the entries 0 to n-1. The function is asked for hashes that the slots do not tell.
func (x *index) resize(bits uint8, n int, hashOf func(entry uint32) uint32) {
	if bits > maxBits {
		panic("more than 3·2^29 keys in one key group")
	}
	old := *x
	x.slots, x.bits, x.far = make([]uint32, 1<<bits), bits, 0
	if !old.tells() || bits > hashBits {
		for i := range n {
			x.add(hashOf(uint32(i)), uint32(i))
		}
		return
	}
	for at, w := range old.slots {
		if w != 0 {
			x.add(old.hashAt(uint32(at)), w&old.mask()-1)
		}
	}
}

// roomy says whether an index with n keys should be a quarter of its size. It then is half full: the keys have to grow by
// half, or to shrink to a quarter, before the next change of size.
func (x *index) roomy(n int) bool { return x.bits > keepBits && n < len(x.slots)/8 }
