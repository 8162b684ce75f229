package engine

// ordered is what a heap can hold.
type ordered[E any] interface{ before(E) bool }

// heap gives its elements in order. Unlike container/heap it knows their type, so that nothing is boxed.
type heap[E ordered[E]] []E

func (h *heap[E]) push(e E) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *heap[E]) pop() E {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s[last] = *new(E)
	s = s[:last]
	s.down(0)
	*h = s
	return top
}

// down moves an element to its place among those behind it.
func (h heap[E]) down(i int) {
	for {
		least, left := i, 2*i+1
		for c := left; c < left+2 && c < len(h); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// order makes a heap of elements in any order.
func (h heap[E]) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}
