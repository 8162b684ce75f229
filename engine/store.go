package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// store is one table of keyed state as a part of the cut: a manifest under its own name, and one item for each key group
// that holds something.
type store[K comparable, V any] struct {
	scope
	table *state.Table[K, V]
	// version is that of the schema; 0 means 1.
	version int
}

func (s *store[K, V]) cut(int64) ([]Item, error) {
	f := s.table.Freeze()
	return tableItems(s.scope, f, appendVersion(f.AppendManifest(nil), s.version)), nil
}

func (s *store[K, V]) load(items *items, mode RestoreMode) (func(), error) {
	table, err := loadTable(items, s.scope, s.table,
		func(rest []byte) error { return checkVersion(rest, s.version) },
		func(k K, v V) Entry { return Entry{Key: fmt.Sprint(k), Content: fmt.Sprint(v)} })
	if err != nil {
		return nil, err
	}
	return func() {
		if mode.restoresKeys() {
			s.table.Become(table)
		}
	}, nil
}

// tableItems gives the items of a frozen table.
func tableItems[K comparable, V any](s scope, f *state.Frozen[K, V], manifest []byte) []Item {
	list := []Item{bytesItem(s.partName(), manifest)}
	for g := range f.Groups() {
		list = append(list, Item{
			Name:   s.groupName(g),
			encode: func() ([]byte, error) { return f.EncodeGroup(g) },
		})
	}
	return list
}

// loadTable reads a table of the same kind as like, as far as its key groups are the subtask's. It hands what follows the
// table in each manifest to tail.
func loadTable[K comparable, V any](
	items *items, s scope, like *state.Table[K, V], tail func(rest []byte) error, show func(k K, v V) Entry,
) (*state.Table[K, V], error) {
	table := like.Empty()
	for _, name := range s.stored(items) {
		b, err := items.take(name)
		if err != nil {
			return nil, err
		}
		m, rest, err := state.DecodeManifest(b)
		if err != nil {
			return nil, err
		}
		if err := like.Accepts(m); err != nil {
			return nil, err
		}
		if err := tail(rest); err != nil {
			return nil, err
		}
		if err := loadGroups(items, s, m, table); err != nil {
			return nil, err
		}
	}
	frozen := table.Freeze()
	items.note(func(yield func(Entry) bool) {
		for g := range frozen.Groups() {
			for k, v := range frozen.Group(g) {
				e := show(k, v)
				e.Item = s.groupName(g)
				if !yield(e) {
					return
				}
			}
		}
	})
	return table, nil
}

// loadGroups adds those key groups of a stored table that the subtask has.
func loadGroups[K comparable, V any](items *items, s scope, m state.Manifest, table *state.Table[K, V]) error {
	for _, size := range m.Used {
		if !s.owns(size.Number) {
			continue
		}
		name := s.groupName(size.Number)
		b, err := items.take(name)
		if err != nil {
			return err
		}
		if err := table.DecodeGroup(size, b); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}
