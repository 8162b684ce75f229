package state

import (
	"encoding/binary"
	"errors"
	"iter"
	"sync"
)

// The two kinds of item that a table is written as, and the version of both layouts.
const (
	kindManifest  = 'M'
	kindGroup     = 'G'
	formatVersion = 1
)

// ErrVersion is in the chain of the error of a decoder that meets a layout newer than it knows.
var ErrVersion = errors.New("unknown layout version")

// Frozen is a table at the moment of a [Table.Freeze]. It never changes; any number of goroutines may read it.
type Frozen[K comparable, V any] struct {
	keys   Codec[K]
	vals   Codec[V]
	groups []view[K, V]
	n      int
	// scratch has the sorters of those who encode, one for each that does at the same time.
	scratch sync.Pool
}

// Freeze returns the table as it is now, in O(groups).
func (t *Table[K, V]) Freeze() *Frozen[K, V] {
	f := &Frozen[K, V]{keys: t.keys, vals: t.vals, groups: make([]view[K, V], len(t.groups)), n: t.n}
	for i := range t.groups {
		f.groups[i] = t.groups[i].view
	}
	t.epoch++
	return f
}

// Len is the number of keys.
func (f *Frozen[K, V]) Len() int { return f.n }

// All yields every entry.
func (f *Frozen[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range f.groups {
			if !f.groups[i].each(yield) {
				return
			}
		}
	}
}

// Group yields the entries of one key group.
func (f *Frozen[K, V]) Group(number int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { f.groups[number].each(yield) }
}

// Groups yields the numbers of the key groups that hold something, ascending, with their number of keys.
func (f *Frozen[K, V]) Groups() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range f.groups {
			if n := f.groups[i].n; n > 0 && !yield(i, n) {
				return
			}
		}
	}
}

// AppendManifest writes what the table consists of: the schema, the number of groups, and each group's number of keys.
//
//	'M' 1 | schema: length, bytes | groups | groups that hold something | each: number, keys
//
// All numbers are unsigned varints.
func (f *Frozen[K, V]) AppendManifest(b []byte) []byte {
	schema := schemaOf(f.keys, f.vals)
	b = append(b, kindManifest, formatVersion)
	b = append(binary.AppendUvarint(b, uint64(len(schema))), schema...)
	b = binary.AppendUvarint(b, uint64(len(f.groups)))
	used := 0
	for range f.Groups() {
		used++
	}
	b = binary.AppendUvarint(b, uint64(used))
	for g, n := range f.Groups() {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(g)), uint64(n))
	}
	return b
}

func schemaOf[K comparable, V any](keys Codec[K], vals Codec[V]) string {
	return keys.Schema() + " => " + vals.Schema()
}
