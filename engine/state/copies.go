package state

import "iter"

// Become makes t hold what o holds, which is of the same kind ([Table.Empty]) and of no use afterwards; O(groups). Frozen
// views of either stay as they are. Pointers from [Table.Ref] are void, which a new epoch says.
func (t *Table[K, V]) Become(o *Table[K, V]) {
	// In place: where a key belongs ([Table.GroupOf]) may be asked meanwhile.
	copy(t.groups, o.groups)
	t.n = o.n
	t.spread = o.spread                 // indexes may be built on it
	t.epoch = max(t.epoch, o.epoch) + 1 // no page has it, so whatever a frozen view shares is copied
}

// GroupOf is the key group of k. It depends on the kind of table alone, so any goroutine may ask at any time.
func (t *Table[K, V]) GroupOf(k K) int { return Group(t.hash(k), len(t.groups)) }

// Copy is Get whose value shares nothing mutable with the table. It fails only where a marshaller of the user's own does.
func (t *Table[K, V]) Copy(k K) (v V, ok bool, err error) {
	if v, ok = t.Get(k); ok {
		v, err = t.vals.Clone(&v)
	}
	return v, ok, err
}

// Copies yields every entry, with values that share nothing mutable with the view. It panics where a marshaller of the
// user's own fails.
func (f *Frozen[K, V]) Copies() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range f.All() {
			w, err := f.vals.Clone(&v)
			if err != nil {
				panic(err)
			}
			if !yield(k, w) {
				return
			}
		}
	}
}
