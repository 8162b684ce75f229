package state

import "iter"

// Table is keyed state: a map from K to V, split into key groups, that can be frozen at any time in O(groups).
//
// Two keys are the same if they are encoded the same. For integers, strings, booleans and structs of them that is what ==
// says; a NaN is a key like any other, and 0.0 and -0.0 are two. A group holds up to 3·2^29 keys; one more panics.
//
// After [Table.Freeze] the entries stay where they are; the first write to a page copies that page (16 entries), so
// neither the cut nor the writes after it copy a key group. A frozen view needs no release: the garbage collector takes
// the old pages with it. A Table serves one goroutine at a time; a [Frozen] any number.
//
// The methods that end in Hashed are for callers that know [Table.Hash] of the key already; with another hash they work
// on another key, or none.
type Table[K comparable, V any] struct {
	keys   Codec[K]
	vals   Codec[V]
	hash   func(K) uint64
	spread func(K) uint64
	exact  bool // == tells keys apart; otherwise same does
	same   *sameness[K]
	groups []group[K, V]
	epoch  uint64
	n      int
}

// NewTable returns an empty table of the given number of key groups (at least 1). The hash decides the group of a key;
// it must be stable between processes and well mixed, such as one of [Hasher]. Keys may share it: the windows of one key do.
func NewTable[K comparable, V any](groups int, hash func(K) uint64, keys Codec[K], vals Codec[V]) *Table[K, V] {
	return &Table[K, V]{
		keys: keys, vals: vals, hash: hash, spread: spreader(keys), exact: keys.shape.exact, same: samenessOf(keys),
		groups: make([]group[K, V], max(groups, 1)),
	}
}

// Len is the number of keys.
func (t *Table[K, V]) Len() int { return t.n }

// Epoch is the number of times the table was frozen: pointers from [Table.Ref] of an earlier epoch must not be written
// through.
func (t *Table[K, V]) Epoch() uint64 { return t.epoch }

// Hash is the hash of k, which [Group] turns into its key group.
func (t *Table[K, V]) Hash(k K) uint64 { return t.hash(k) }

// Get returns a copy of the value of k. What a value refers to (slices, maps, pointers) may be read, not changed.
func (t *Table[K, V]) Get(k K) (v V, ok bool) { return t.GetHashed(t.hash(k), k) }

// GetHashed is Get with the hash of k.
func (t *Table[K, V]) GetHashed(hash uint64, k K) (v V, ok bool) {
	g := &t.groups[Group(hash, len(t.groups))]
	i, ok := t.find(g, t.slotHash(g, hash, k), k)
	if !ok {
		return v, false
	}
	return g.places[i/pageLen].page.entries[i%pageLen].val, true
}

// Put sets the value of k.
func (t *Table[K, V]) Put(k K, v V) {
	p, _ := t.UpsertHashed(t.hash(k), k)
	*p = v
}

// Ref returns where the value of k lies, to change it in place, or nil. The pointer holds, also while keys are added, until
// a key is removed, the table becomes another, or the epoch changes.
func (t *Table[K, V]) Ref(k K) *V { return t.RefHashed(t.hash(k), k) }

// RefHashed is Ref with the hash of k.
func (t *Table[K, V]) RefHashed(hash uint64, k K) *V {
	g := &t.groups[Group(hash, len(t.groups))]
	i, ok := t.find(g, t.slotHash(g, hash, k), k)
	if !ok {
		return nil
	}
	return &t.own(g, i).val
}

// Upsert is Ref that adds a zero value where there is none; fresh says that it did.
func (t *Table[K, V]) Upsert(k K) (v *V, fresh bool) { return t.UpsertHashed(t.hash(k), k) }

// UpsertHashed is Upsert with the hash of k.
func (t *Table[K, V]) UpsertHashed(hash uint64, k K) (v *V, fresh bool) {
	g := &t.groups[Group(hash, len(t.groups))]
	h := t.slotHash(g, hash, k)
	if i, ok := t.find(g, h, k); ok {
		return &t.own(g, i).val, false
	}
	return t.insert(g, h, k), true
}

// Delete removes k and says whether it was there. The last entry of the group takes its place.
func (t *Table[K, V]) Delete(k K) bool {
	_, ok := t.TakeHashed(t.hash(k), k)
	return ok
}

// Take is Delete that returns what was there.
func (t *Table[K, V]) Take(k K) (v V, ok bool) { return t.TakeHashed(t.hash(k), k) }

// TakeHashed is Take with the hash of k.
func (t *Table[K, V]) TakeHashed(hash uint64, k K) (v V, ok bool) {
	g := &t.groups[Group(hash, len(t.groups))]
	h := t.slotHash(g, hash, k)
	i, ok := t.find(g, h, k)
	if !ok {
		return v, false
	}
	return t.remove(g, h, i), true
}

// Clear removes every key, and gives their memory back.
func (t *Table[K, V]) Clear() {
	clear(t.groups)
	t.n = 0
}

// All yields every entry, group by group. The table must not change meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range t.groups {
			if !t.groups[i].each(yield) {
				return
			}
		}
	}
}
