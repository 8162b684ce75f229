package state

// Cursor is a place in a [Table], for [Table.Sweep]. The zero value is the beginning.
type Cursor struct {
	group int
	entry uint32
}

// Sweep looks at the next n entries from c on, and removes those that drop says so of, which must not change them. Behind the
// last it begins anew; of empty groups it passes n at most. An entry that is moved by a removal may be passed over until the next
// time round.
func (t *Table[K, V]) Sweep(c *Cursor, n int, drop func(v *V) bool) {
	for empty := 0; n > 0 && empty <= n; {
		g := &t.groups[c.group]
		if c.entry >= uint32(g.n) {
			c.group, c.entry = (c.group+1)%len(t.groups), 0
			empty++
			continue
		}
		n--
		if i := c.entry; drop(&g.places[i/pageLen].page.entries[i%pageLen].val) {
			t.remove(g, t.slotHashOf(g, i), i) // the last of the group takes the place, and is next
			continue
		}
		c.entry++
	}
}
