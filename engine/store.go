package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// store is one table of keyed state as a part of the cut: a manifest under its own name, and one item for each key group
// that holds something.
type store[K comparable, V any] struct {
	name  string // of the operator's state, such as "store-1"
	state string
	table *state.Table[K, V]
	// version is that of the schema; 0 means 1.
	version int
}

func (s *store[K, V]) partName() string { return s.name + "." + s.state }

func (s *store[K, V]) cut(int64) ([]Item, error) {
	f := s.table.Freeze()
	return tableItems(s.partName(), f, appendVersion(f.AppendManifest(nil), s.version)), nil
}

func (s *store[K, V]) load(items *items, mode RestoreMode) (func(), error) {
	table, rest, err := loadTable(items, s.partName(), s.table, func(k K, v V) Entry {
		return Entry{Key: fmt.Sprint(k), Content: fmt.Sprint(v)}
	})
	if err != nil {
		return nil, err
	}
	if err := checkVersion(rest, s.version); err != nil {
		return nil, err
	}
	return func() {
		if mode == Adopt {
			s.table = table
		}
	}, nil
}

// tableItems gives the items of a frozen table.
func tableItems[K comparable, V any](name string, f *state.Frozen[K, V], manifest []byte) []Item {
	list := []Item{bytesItem(name, manifest)}
	for g := range f.Groups() {
		list = append(list, Item{
			Name:   groupName(name, g),
			encode: func() ([]byte, error) { return f.EncodeGroup(g) },
		})
	}
	return list
}

// groupName names the item of a key group.
func groupName(name string, group int) string { return fmt.Sprintf("%s/%05d", name, group) }

// loadTable reads a table of the same kind as like. It returns what follows the table in its manifest.
func loadTable[K comparable, V any](
	items *items, name string, like *state.Table[K, V], show func(k K, v V) Entry,
) (*state.Table[K, V], []byte, error) {
	b, err := items.take(name)
	if err != nil {
		return nil, nil, err
	}
	m, rest, err := state.DecodeManifest(b)
	if err != nil {
		return nil, nil, err
	}
	if err := like.Accepts(m); err != nil {
		return nil, nil, err
	}
	table := like.Empty()
	for _, size := range m.Used {
		item := groupName(name, size.Number)
		b, err := items.take(item)
		if err != nil {
			return nil, nil, err
		}
		if err := table.DecodeGroup(size, b); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", item, err)
		}
	}
	frozen := table.Freeze()
	items.note(func(yield func(Entry) bool) {
		for g := range frozen.Groups() {
			for k, v := range frozen.Group(g) {
				e := show(k, v)
				e.Item = groupName(name, g)
				if !yield(e) {
					return
				}
			}
		}
	})
	return table, rest, nil
}
