package engine

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// timerTable is timers as a part of the cut: each with the number that tells the order in which they were set.
type timerTable[K comparable] struct {
	scope
	table  *state.Table[Timer[K], uint64]
	loaded func()
}

func (s *timerTable[K]) cut(int64) ([]Item, error) {
	f := s.table.Freeze()
	return tableItems(s.scope, f, f.AppendManifest(nil)), nil
}

func (s *timerTable[K]) load(items *items, mode RestoreMode) (func(), error) {
	table, err := loadTable(items, s.scope, s.table,
		func(rest []byte) error { return (&decoder{b: rest}).finish() },
		func(t Timer[K], _ uint64) Entry {
			return Entry{Key: fmt.Sprint(t.Key), Last: t.Time, Content: t.Domain.String()}
		})
	if err != nil {
		return nil, err
	}
	for t := range table.All() {
		if t.Domain >= timeDomains {
			return nil, fmt.Errorf("timer of domain %d: %w", t.Domain, ErrCorrupt)
		}
	}
	return func() {
		if mode.restoresKeys() {
			s.table.Become(table)
			s.loaded()
		}
	}, nil
}
