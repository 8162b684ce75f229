package state

// fan is how many pages or nodes a node has: a first write after a cut copies 256 bytes of each level.
const (
	fanBits = 5
	fan     = 1 << fanBits
)

// node is a part of a tree of pages: a leaf with pages, or above with kids. Only a node of the table's own epoch may be
// written.
type node[K comparable, V any] struct {
	epoch uint64
	kids  []*node[K, V]
	pages []*page[K, V]
}

// tree is the list of pages of a group as frozen views share it. Changing a page of it copies the nodes above that page,
// once in an epoch: two for 16 000 keys, four for 16 million.
type tree[K comparable, V any] struct {
	root   *node[K, V]
	height int // of the root; 0 is a leaf
}

// set puts a page at a place, which may be the one behind the last.
func (t *tree[K, V]) set(at int, p *page[K, V], epoch uint64) {
	if at>>(fanBits*(t.height+1)) > 0 {
		t.root = &node[K, V]{epoch: epoch, kids: []*node[K, V]{t.root}}
		t.height++
	}
	t.root = t.root.set(t.height, at, p, epoch)
}

// cut drops the last page.
func (t *tree[K, V]) cut(epoch uint64) {
	t.root = t.root.cut(t.height, epoch)
	for t.root != nil && t.height > 0 && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
		t.height--
	}
	if t.root == nil {
		t.height = 0
	}
}

// each yields the pages in order, and says whether all were wanted.
func (t *tree[K, V]) each(yield func(*page[K, V]) bool) bool {
	return t.root == nil || t.root.each(t.height, yield)
}

// own returns n, or what takes its place in this epoch.
func (n *node[K, V]) own(epoch uint64) *node[K, V] {
	switch {
	case n == nil:
		return &node[K, V]{epoch: epoch}
	case n.epoch == epoch:
		return n
	}
	m := &node[K, V]{epoch: epoch}
	m.kids = append(m.kids, n.kids...)
	m.pages = append(m.pages, n.pages...)
	return m
}

func (n *node[K, V]) set(height, at int, p *page[K, V], epoch uint64) *node[K, V] {
	n = n.own(epoch)
	if height == 0 {
		if at == len(n.pages) {
			n.pages = append(n.pages, p)
		} else {
			n.pages[at] = p
		}
		return n
	}
	kid, rest := at>>(fanBits*height), at&(1<<(fanBits*height)-1)
	if kid == len(n.kids) {
		n.kids = append(n.kids, nil)
	}
	n.kids[kid] = n.kids[kid].set(height-1, rest, p, epoch)
	return n
}

// cut drops the last page of n, and returns nil when nothing is left.
func (n *node[K, V]) cut(height int, epoch uint64) *node[K, V] {
	n = n.own(epoch)
	if height == 0 {
		last := len(n.pages) - 1
		n.pages[last] = nil
		n.pages = n.pages[:last]
	} else {
		last := len(n.kids) - 1
		if n.kids[last] = n.kids[last].cut(height-1, epoch); n.kids[last] == nil {
			n.kids = n.kids[:last]
		}
	}
	if len(n.kids)+len(n.pages) == 0 {
		return nil
	}
	return n
}

func (n *node[K, V]) each(height int, yield func(*page[K, V]) bool) bool {
	if height == 0 {
		for _, p := range n.pages {
			if !yield(p) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids {
		if !kid.each(height-1, yield) {
			return false
		}
	}
	return true
}
