package state

import (
	"iter"
	"slices"
)

// pageLen is how many entries share a page: the most that a first write after a cut copies. Sixteen keeps that copy
// near 100 ns for small values, and the page pointers below a tenth of the entries.
const pageLen = 16

// entry is one key with its value.
type entry[K comparable, V any] struct {
	key K
	val V
}

// page is the unit of copy on write.
type page[K comparable, V any] struct {
	entries [pageLen]entry[K, V]
}

// place is a page as the table itself reaches it. Only a page of the table's own epoch may be written. The epoch stands
// here and not in the page: so 16 entries of 16 bytes fill an allocation of 256, and finding one touches one line less.
type place[K comparable, V any] struct {
	page  *page[K, V]
	epoch uint64
}

// view is the entries of one key group as they lie in its pages: without gaps, zero behind the last.
type view[K comparable, V any] struct {
	tree tree[K, V]
	n    int
}

// runs yields the entries page by page.
func (v *view[K, V]) runs() iter.Seq[[]entry[K, V]] {
	return func(yield func([]entry[K, V]) bool) {
		left := v.n
		v.tree.each(func(p *page[K, V]) bool {
			run := p.entries[:min(left, pageLen)]
			left -= len(run)
			return len(run) > 0 && yield(run)
		})
	}
}

// each yields the entries, and says whether all were wanted.
func (v *view[K, V]) each(yield func(K, V) bool) bool {
	for run := range v.runs() {
		for i := range run {
			if !yield(run[i].key, run[i].val) {
				return false
			}
		}
	}
	return true
}

// own returns entry i ready to be written: in a page that no frozen view shares.
func (t *Table[K, V]) own(g *group[K, V], i uint32) *entry[K, V] {
	p := &g.places[i/pageLen]
	if p.epoch != t.epoch {
		t.copyPage(g, int(i/pageLen))
	}
	return &p.page.entries[i%pageLen]
}

// copyPage takes a page out of the hands of frozen views: deeply, where values refer to something mutable.
func (t *Table[K, V]) copyPage(g *group[K, V], number int) {
	old := g.places[number].page
	p := &page[K, V]{entries: old.entries}
	if !t.vals.Flat() {
		for i := range min(pageLen, g.n-number*pageLen) {
			v, err := t.vals.Clone(&old.entries[i].val)
			if err != nil {
				// Only a marshaller of the user's own can fail; the engine turns this into an error of the record.
				panic(err)
			}
			p.entries[i].val = v
		}
	}
	g.tree.set(number, p, t.epoch)
	g.places[number] = place[K, V]{p, t.epoch}
}

// behind returns the entry behind the last, zero and ready to be written.
func (t *Table[K, V]) behind(g *group[K, V]) *entry[K, V] {
	if g.n == len(g.places)*pageLen {
		p := &page[K, V]{}
		g.tree.set(len(g.places), p, t.epoch)
		g.places = append(g.places, place[K, V]{p, t.epoch})
	}
	return t.own(g, uint32(g.n))
}

// trim drops the last page if it is the second that is empty. One stays: windows come and go, and would make and drop a
// page each time.
func (t *Table[K, V]) trim(g *group[K, V]) {
	last := len(g.places) - 1
	if len(g.places)*pageLen-g.n < 2*pageLen {
		return
	}
	g.tree.cut(t.epoch)
	g.places[last] = place[K, V]{}
	g.places = g.places[:last]
	if cap(g.places) > 64 && last < cap(g.places)/4 {
		g.places = slices.Grow(slices.Clone(g.places), last)
	}
}
