package engine

import (
	"cmp"

	"github.com/tidemark-stream/tidemark/engine/window"
)

// wake says that a bucket may want attention at a moment. It is an index of the state, not part of it: one whose bucket is
// gone, or wants something else now, is passed over.
type wake[K comparable] struct {
	at     int64
	window window.Window // as it was; a session may have grown since
	seq    uint64
	kind   wakeKind
	key    K
}

// wakeKind is why a bucket is woken, in the order in which one bucket is at one moment.
type wakeKind uint8

const (
	wakeAsked  wakeKind = iota // the trigger wants it
	wakeEnd                    // the window is complete; there is one of it as long as it is not
	wakeExpiry                 // the window is to be forgotten
)

// wakes is a heap, by moment, end, start, order of creation and kind.
type wakes[K comparable] []wake[K]

func (h wakes[K]) before(i, j int) bool {
	a, b := &h[i], &h[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.window.End, b.window.End),
		cmp.Compare(a.window.Start, b.window.Start), cmp.Compare(a.seq, b.seq), cmp.Compare(a.kind, b.kind)) < 0
}

func (h *wakes[K]) push(w wake[K]) {
	*h = append(*h, w)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.before(i, parent) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *wakes[K]) pop() wake[K] {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s[last] = wake[K]{}
	s = s[:last]
	for i := 0; ; {
		least, left := i, 2*i+1
		for c := left; c < left+2 && c < len(s); c++ {
			if s.before(c, least) {
				least = c
			}
		}
		if least == i {
			break
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
	*h = s
	return top
}

// next is the first moment in the heap.
func (h wakes[K]) next() int64 {
	if len(h) == 0 {
		return window.Never
	}
	return h[0].at
}
