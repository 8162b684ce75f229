package state

import "iter"

// pageLen is how many entries share a page: the most that a first write after a cut copies. Sixteen keeps that copy
// near 100 ns for small values, and the page pointers below a tenth of the entries.
const pageLen = 16

// entry is one key with its value.
type entry[K comparable, V any] struct {
	key K
	val V
}

// page is the unit of copy on write. Only a page whose epoch is the table's own may be written.
type page[K comparable, V any] struct {
	epoch   uint64
	entries [pageLen]entry[K, V]
}

// group holds the keys of one key group: pages of entries without gaps, and where each key is.
type group[K comparable, V any] struct {
	epoch uint64 // the page list belongs to this epoch; an older one may be shared with a frozen view
	pages []*page[K, V]
	n     int
	index map[K]uint32
}

// Table is keyed state: a map from K to V, split into key groups, that can be frozen at any time in O(groups).
//
// After [Table.Freeze] the entries stay where they are; the first write to a page copies that page (16 entries), so
// neither the cut nor the writes after it copy a key group. A frozen view needs no release: the garbage collector takes
// the old pages with it. A Table serves one goroutine at a time; a [Frozen] any number.
type Table[K comparable, V any] struct {
	keys   Codec[K]
	vals   Codec[V]
	hash   func(K) uint64
	groups []group[K, V]
	epoch  uint64
	n      int
}

// NewTable returns an empty table of the given number of key groups (at least 1). The hash decides the group of a key;
// it must be stable between processes, such as one of [Hasher].
func NewTable[K comparable, V any](groups int, hash func(K) uint64, keys Codec[K], vals Codec[V]) *Table[K, V] {
	return &Table[K, V]{keys: keys, vals: vals, hash: hash, groups: make([]group[K, V], max(groups, 1))}
}

// Len is the number of keys.
func (t *Table[K, V]) Len() int { return t.n }

// Epoch is the number of times the table was frozen: pointers from [Table.Ref] of an earlier epoch must not be written
// through.
func (t *Table[K, V]) Epoch() uint64 { return t.epoch }

// Get returns a copy of the value of k. What a value refers to (slices, maps, pointers) may be read, not changed.
func (t *Table[K, V]) Get(k K) (v V, ok bool) {
	g := &t.groups[Group(t.hash(k), len(t.groups))]
	i, ok := g.index[k]
	if !ok {
		return v, false
	}
	return g.pages[i/pageLen].entries[i%pageLen].val, true
}

// Put sets the value of k.
func (t *Table[K, V]) Put(k K, v V) {
	p, _ := t.Upsert(k)
	*p = v
}

// Ref returns where the value of k lies, to change it in place, or nil. The pointer holds until the next call of any
// method of the table.
func (t *Table[K, V]) Ref(k K) *V {
	g := &t.groups[Group(t.hash(k), len(t.groups))]
	i, ok := g.index[k]
	if !ok {
		return nil
	}
	return &t.own(g, i).val
}

// Upsert is Ref that adds a zero value where there is none; fresh says that it did.
func (t *Table[K, V]) Upsert(k K) (v *V, fresh bool) {
	g := &t.groups[Group(t.hash(k), len(t.groups))]
	if i, ok := g.index[k]; ok {
		return &t.own(g, i).val, false
	}
	return t.insert(g, k), true
}

// insert adds k, which is not there, behind the last entry of its group.
func (t *Table[K, V]) insert(g *group[K, V], k K) *V {
	if g.index == nil {
		g.index = make(map[K]uint32)
	}
	i := uint32(g.n)
	if g.n == len(g.pages)*pageLen {
		t.ownList(g)
		g.pages = append(g.pages, &page[K, V]{epoch: t.epoch})
	}
	e := t.own(g, i)
	e.key = k
	g.index[k] = i
	g.n++
	t.n++
	return &e.val
}

// Delete removes k and says whether it was there. The last entry of the group takes its place.
func (t *Table[K, V]) Delete(k K) bool {
	_, ok := t.Take(k)
	return ok
}

// Take is Delete that returns what was there.
func (t *Table[K, V]) Take(k K) (v V, ok bool) {
	g := &t.groups[Group(t.hash(k), len(t.groups))]
	i, ok := g.index[k]
	if !ok {
		return v, false
	}
	delete(g.index, k)
	last := uint32(g.n - 1)
	tail := t.own(g, last)
	v = tail.val
	if i != last {
		e := t.own(g, i)
		v = e.val
		*e = *tail
		g.index[tail.key] = i
	}
	*tail = entry[K, V]{}
	g.n--
	t.n--
	// One empty page stays: windows come and go, and would make and drop a page each time.
	if len(g.pages)*pageLen-g.n >= 2*pageLen {
		t.ownList(g)
		g.pages[len(g.pages)-1] = nil
		g.pages = g.pages[:len(g.pages)-1]
	}
	return v, true
}

// Clear removes every key.
func (t *Table[K, V]) Clear() {
	clear(t.groups)
	t.n = 0
}

// All yields every entry, group by group. The table must not change meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range t.groups {
			if !each(t.groups[i].pages, t.groups[i].n, yield) {
				return
			}
		}
	}
}

// own returns entry i ready to be written: in a page that no frozen view shares.
func (t *Table[K, V]) own(g *group[K, V], i uint32) *entry[K, V] {
	p := g.pages[i/pageLen]
	if p.epoch != t.epoch {
		p = t.copyPage(p, min(pageLen, g.n-int(i/pageLen)*pageLen))
		t.ownList(g)
		g.pages[i/pageLen] = p
	}
	return &p.entries[i%pageLen]
}

// copyPage copies a shared page with its first n entries, deeply where values refer to something mutable.
func (t *Table[K, V]) copyPage(p *page[K, V], n int) *page[K, V] {
	q := &page[K, V]{epoch: t.epoch, entries: p.entries}
	if t.vals.Flat() {
		return q
	}
	for i := range n {
		v, err := t.vals.Clone(&p.entries[i].val)
		if err != nil {
			// Only a marshaller of the user's own can fail; the engine turns this into an error of the record.
			panic(err)
		}
		q.entries[i].val = v
	}
	return q
}

// ownList makes the page list of g writable.
func (t *Table[K, V]) ownList(g *group[K, V]) {
	if g.epoch == t.epoch {
		return
	}
	g.pages = append(make([]*page[K, V], 0, len(g.pages)+1), g.pages...)
	g.epoch = t.epoch
}

// each yields the first n entries of pages, and says whether yield wanted all.
func each[K comparable, V any](pages []*page[K, V], n int, yield func(K, V) bool) bool {
	for i := range n {
		e := &pages[i/pageLen].entries[i%pageLen]
		if !yield(e.key, e.val) {
			return false
		}
	}
	return true
}
