package state

import (
	"encoding/binary"
	"slices"
)

// item is an encoded entry in the bytes of a sorter: where it starts, where its key ends, where it ends.
type item struct{ at, key, end int }

// ranked is an item with eight bytes of its key, the first one highest: most keys are told apart by one comparison of
// these, without a look at the bytes.
type ranked struct {
	rank   uint64
	number int // of the item
}

// sorter orders encoded entries by their keys. It is scratch space for one goroutine at a time.
type sorter struct {
	bytes []byte
	items []item
	order []ranked
	spare []ranked
}

// reset makes room for n entries.
func (s *sorter) reset(n int) {
	s.bytes = slices.Grow(s.bytes[:0], 8*n)
	s.items = slices.Grow(s.items[:0], n)
	s.order = slices.Grow(s.order[:0], n)
	s.spare = slices.Grow(s.spare[:0], n)[:n]
}

// append writes the entries behind b, in order.
func (s *sorter) append(b []byte) []byte {
	for i := range s.items {
		s.order = append(s.order, ranked{number: i})
	}
	s.sort(s.order, s.spare, 0)
	for _, r := range s.order {
		it := s.items[r.number]
		b = append(b, s.bytes[it.at:it.end]...)
	}
	return b
}

// sort orders a list of items whose keys agree in their first skip bytes. No key is the beginning of another, so those
// that agree here have eight more bytes, or are equal.
func (s *sorter) sort(list, spare []ranked, skip int) {
	for i := range list {
		it := s.items[list[i].number]
		list[i].rank = rank(s.bytes[min(it.at+skip, it.key):it.key])
	}
	byRank(list, spare)
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].rank == list[from].rank {
			to++
		}
		if it := s.items[list[from].number]; to-from > 1 && it.key-it.at > skip+8 {
			s.sort(list[from:to], spare[from:to], skip+8)
		}
		from = to
	}
}

// rank makes a number of the first eight bytes of b.
func rank(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var r uint64
	for i, c := range b {
		r |= uint64(c) << (56 - 8*i)
	}
	return r
}

// byRank sorts a list: a short one by comparing, a long one digit by digit, which takes 2 ns an item for each byte in
// which ranks differ.
func byRank(list, spare []ranked) {
	if len(list) < 512 {
		slices.SortFunc(list, compareRanks)
		return
	}
	var counts [8][256]int
	for _, r := range list {
		for d := range 8 {
			counts[d][byte(r.rank>>(8*d))]++
		}
	}
	from, to := list, spare
	for d := range 8 {
		if counts[d][byte(from[0].rank>>(8*d))] == len(list) {
			continue
		}
		at := 0
		for c, n := range counts[d] {
			counts[d][c] = at
			at += n
		}
		for _, r := range from {
			c := byte(r.rank >> (8 * d))
			to[counts[d][c]] = r
			counts[d][c]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

func compareRanks(a, b ranked) int {
	switch {
	case a.rank < b.rank:
		return -1
	case a.rank > b.rank:
		return 1
	}
	return 0
}
