package engine

import (
	"iter"
	"maps"
	"slices"
)

// ListState is a list per key, in the order in which elements were added. Like [Value] it may be used inside the
// [ProcessFunc] that it was declared for, and panics with [ErrNoKey] anywhere else.
type ListState[K comparable, E any] struct{ v *Value[K, []E] }

// ListOf declares a list of E per key; see [ValueOf] for name and type.
func ListOf[E any, K comparable](op *Keyed[K], name string) *ListState[K, E] {
	return &ListState[K, E]{ValueOf[[]E](op, name)}
}

// Get returns a copy of the list, nil if it is empty.
func (l *ListState[K, E]) Get() []E { return slices.Clone(l.v.Get()) }

// Len is the number of elements.
func (l *ListState[K, E]) Len() int {
	list, _ := l.v.store.table.Get(l.v.current())
	return len(list)
}

// Add appends elements.
func (l *ListState[K, E]) Add(elements ...E) {
	if len(elements) == 0 {
		return
	}
	p, _ := l.v.store.table.Upsert(l.v.current())
	*p = append(*p, elements...)
}

// Update replaces the whole list with a copy of elements.
func (l *ListState[K, E]) Update(elements []E) {
	if len(elements) == 0 {
		l.Clear()
		return
	}
	l.v.Put(slices.Clone(elements))
}

// Clear empties the list of the current key.
func (l *ListState[K, E]) Clear() { l.v.Clear() }

// MapState is a map per key of the stream. Like [Value] it may be used inside the [ProcessFunc] that it was declared for, and
// panics with [ErrNoKey] anywhere else.
type MapState[K, MK comparable, MV any] struct{ v *Value[K, map[MK]MV] }

// MapOf declares a map from MK to MV per key; see [ValueOf] for name and types.
func MapOf[MK comparable, MV any, K comparable](op *Keyed[K], name string) *MapState[K, MK, MV] {
	return &MapState[K, MK, MV]{ValueOf[map[MK]MV](op, name)}
}

// Get gives the value of mk, and whether there is one.
func (m *MapState[K, MK, MV]) Get(mk MK) (MV, bool) {
	mv, ok := m.v.Get()[mk]
	return mv, ok
}

// Put sets the value of mk.
func (m *MapState[K, MK, MV]) Put(mk MK, mv MV) {
	p, _ := m.v.store.table.Upsert(m.v.current())
	if *p == nil {
		*p = make(map[MK]MV)
	}
	(*p)[mk] = mv
}

// Remove takes mk out, and gives what it had.
func (m *MapState[K, MK, MV]) Remove(mk MK) (MV, bool) {
	p := m.v.store.table.Ref(m.v.current())
	if p == nil {
		return *new(MV), false
	}
	mv, ok := (*p)[mk]
	if delete(*p, mk); len(*p) == 0 {
		m.Clear()
	}
	return mv, ok
}

// Len is the number of entries.
func (m *MapState[K, MK, MV]) Len() int {
	entries, _ := m.v.store.table.Get(m.v.current())
	return len(entries)
}

// All yields the entries as they are now, in no particular order; the map may change meanwhile.
func (m *MapState[K, MK, MV]) All() iter.Seq2[MK, MV] { return maps.All(maps.Clone(m.v.Get())) }

// Clear empties the map of the current key.
func (m *MapState[K, MK, MV]) Clear() { m.v.Clear() }
