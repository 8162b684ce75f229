package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	groups []group[K, V] // without index
}

// Freeze returns the table as it is now, in O(groups).
func (t *Table[K, V]) Freeze() *Frozen[K, V] {
	f := &Frozen[K, V]{keys: t.keys, vals: t.vals, groups: make([]group[K, V], len(t.groups))}
	for i := range t.groups {
		f.groups[i] = group[K, V]{pages: t.groups[i].pages, n: t.groups[i].n}
	}
	t.epoch++
	return f
}

// All yields every entry.
func (f *Frozen[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range f.groups {
			if !each(f.groups[i].pages, f.groups[i].n, yield) {
				return
			}
		}
	}
}

// Group yields the entries of one key group.
func (f *Frozen[K, V]) Group(number int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { each(f.groups[number].pages, f.groups[number].n, yield) }
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

// EncodeGroup writes one key group. The bytes depend on the content alone, not on the order of the writes.
//
//	'G' 1 | group | keys | each, in the order of the encoded keys: key, value
func (f *Frozen[K, V]) EncodeGroup(number int) ([]byte, error) {
	g := &f.groups[number]
	entries := make([][]byte, 0, g.n)
	for i := range g.n {
		e := &g.pages[i/pageLen].entries[i%pageLen]
		b, err := f.keys.Append(nil, &e.key)
		if err != nil {
			return nil, fmt.Errorf("encode key of group %d: %w", number, err)
		}
		if b, err = f.vals.Append(b, &e.val); err != nil {
			return nil, fmt.Errorf("encode value of group %d: %w", number, err)
		}
		entries = append(entries, b)
	}
	// The codecs are prefix-free, so that ordering whole entries orders them by key.
	slices.SortFunc(entries, bytes.Compare)
	b := []byte{kindGroup, formatVersion}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(number)), uint64(g.n))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b, nil
}

func schemaOf[K comparable, V any](keys Codec[K], vals Codec[V]) string {
	return keys.Schema() + " => " + vals.Schema()
}
