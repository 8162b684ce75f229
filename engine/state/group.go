package state

import "slices"

// group holds the keys of one key group. Places and tree list the same pages: one is the shortest way to an entry, the
// other can be shared with frozen views.
type group[K comparable, V any] struct {
	index  index
	places []place[K, V]
	view[K, V]
}

// slotHash is what the index of g places k by. The low bits of the table's hash choose the group, so the high bits of a
// multiple of it choose the slot.
func (t *Table[K, V]) slotHash(g *group[K, V], hash uint64, k K) uint32 {
	if g.index.spread {
		hash = t.spread(k)
	}
	return uint32(hash * 0x9e3779b97f4a7c15 >> 32)
}

// slotHashOf is slotHash of an entry.
func (t *Table[K, V]) slotHashOf(g *group[K, V], i uint32) uint32 {
	k := g.places[i/pageLen].page.entries[i%pageLen].key
	if g.index.spread {
		return t.slotHash(g, 0, k)
	}
	return t.slotHash(g, t.hash(k), k)
}

// find returns the entry of k.
func (t *Table[K, V]) find(g *group[K, V], hash uint32, k K) (entry uint32, ok bool) {
	slots := g.index.slots
	if len(slots) == 0 {
		return 0, false
	}
	mask, tag := uint32(len(slots)-1), g.index.tag(hash)
	for at := g.index.home(hash); ; at++ {
		w := slots[at&mask]
		if w == 0 {
			return 0, false
		}
		if (w^tag)&^mask != 0 {
			continue
		}
		i := w&mask - 1
		e := &g.places[i/pageLen].page.entries[i%pageLen]
		if t.exact {
			if e.key == k {
				return i, true
			}
		} else if t.same.of(e.key, k) {
			return i, true
		}
	}
}

// insert adds k, which is not there, behind the last entry of its group.
func (t *Table[K, V]) insert(g *group[K, V], hash uint32, k K) *V {
	if g.index.full(g.n) {
		t.resize(g, bitsFor(g.n+1))
	}
	e := t.behind(g)
	e.key = k
	twins := g.index.add(hash, uint32(g.n))
	g.n++
	t.n++
	if g.index.crowded(twins) {
		g.index.spread = true
		g.index.forget()
		t.resize(g, g.index.bits)
	}
	return &e.val
}

// remove takes entry i out. The last entry of the group takes its place.
func (t *Table[K, V]) remove(g *group[K, V], hash, i uint32) V {
	last := uint32(g.n - 1)
	// What can panic (a marshaller of the user's own) comes before the first change.
	tail := t.own(g, last)
	e, moved := tail, hash
	if i != last {
		e, moved = t.own(g, i), t.slotHashOf(g, last)
	}
	g.index.remove(hash, i, func(i uint32) uint32 { return t.slotHashOf(g, i) })
	v := e.val
	if i != last {
		g.index.rename(moved, last, i)
		*e = *tail
	}
	*tail = entry[K, V]{}
	g.n--
	t.n--
	t.trim(g)
	if g.index.roomy(g.n) {
		t.resize(g, g.index.bits-2)
	}
	return v
}

// reserve makes room for n keys more in a group, so that they come without copying what grows.
func (t *Table[K, V]) reserve(number, n int) {
	g := &t.groups[number]
	g.places = slices.Grow(g.places, max(0, (g.n+n+pageLen-1)/pageLen-len(g.places)))
	if bits := bitsFor(g.n + n); bits > g.index.bits {
		t.resize(g, bits)
	}
}

func (t *Table[K, V]) resize(g *group[K, V], bits uint8) {
	g.index.resize(bits, g.n, func(i uint32) uint32 { return t.slotHashOf(g, i) })
}
