package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// transaction is one of a two-phase sink, from its first record to its commit.
type transaction[T, Txn any] struct {
	cut  int64  // id of the cut that closed it
	seq  uint64 // number of that cut in this attempt, from 1; 0 if it was adopted
	rows []T    // not handed over yet

	// Guarded by the sink's io; the rest by the memory.
	handle   Txn
	begun    bool
	prepared bool
}

// transactions is the memory in front of a two-phase sink. Its lock is taken last, for memory work only.
type transactions[T, Txn any] struct {
	waiting atomic.Int64 // records in memory

	mu     sync.Mutex
	open   *transaction[T, Txn]   // takes records; nil before its first
	closed []*transaction[T, Txn] // by cuts, not committed yet, oldest first
	cuts   []cutMark              // of which no verdict has been heard, oldest first
	seq    uint64                 // of the newest cut
	spare  []T
}

// cutMark remembers which cut was taken under which id. A restart may use ids again, so they do not tell the order.
type cutMark struct {
	id  int64
	seq uint64
}

// append adds a record to the open transaction.
func (m *transactions[T, Txn]) append(v T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = &transaction[T, Txn]{}
	}
	if m.open.rows == nil {
		m.open.rows, m.spare = m.spare, nil
	}
	m.open.rows = append(m.open.rows, v)
	m.waiting.Add(1)
}

// seal closes the open transaction, and gives all that the cut holds.
func (m *transactions[T, Txn]) seal(id int64) []*transaction[T, Txn] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	m.cuts = append(m.cuts, cutMark{id, m.seq})
	if m.open != nil {
		m.open.cut, m.open.seq = id, m.seq
		m.closed = append(m.closed, m.open)
		m.open = nil
	}
	return slices.Clone(m.closed)
}

// all gives what has not been committed, oldest first.
func (m *transactions[T, Txn]) all() []*transaction[T, Txn] {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.closed)
	if m.open != nil {
		list = append(list, m.open)
	}
	return list
}

// take gives the records of a transaction that wait in memory.
func (m *transactions[T, Txn]) take(tx *transaction[T, Txn]) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := tx.rows
	tx.rows = nil
	m.waiting.Add(-int64(len(rows)))
	return rows
}

// giveBack takes the space of a batch that was handed over.
func (m *transactions[T, Txn]) giveBack(rows []T) {
	clear(rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare = rows[:0]
}

// covered gives what the newest cut of that id holds and was not committed, oldest first. What was adopted is part of a
// completed checkpoint, so it is always among them.
func (m *transactions[T, Txn]) covered(id int64) []*transaction[T, Txn] {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := uint64(0)
	for _, c := range m.cuts {
		if c.id == id {
			last = c.seq
		}
	}
	n := 0
	for n < len(m.closed) && m.closed[n].seq <= last {
		n++
	}
	return slices.Clone(m.closed[:n])
}

// committed forgets a transaction, the oldest.
func (m *transactions[T, Txn]) committed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = slices.Delete(m.closed, 0, 1)
}

// settled forgets the cuts with an id and, if its checkpoint was completed, those before it.
func (m *transactions[T, Txn]) settled(id int64, completed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := uint64(0)
	for _, c := range m.cuts {
		if completed && c.id == id {
			last = c.seq
		}
	}
	m.cuts = slices.DeleteFunc(m.cuts, func(c cutMark) bool { return c.id == id || c.seq <= last })
}

// adopt replaces everything by what a cut holds.
func (m *transactions[T, Txn]) adopt(list []*transaction[T, Txn]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.cuts = list, nil
}
