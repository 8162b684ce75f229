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

// before orders by moment, end, start, order of creation and kind.
func (w wake[K]) before(o wake[K]) bool {
	return cmp.Or(cmp.Compare(w.at, o.at), cmp.Compare(w.window.End, o.window.End),
		cmp.Compare(w.window.Start, o.window.Start), cmp.Compare(w.seq, o.seq), cmp.Compare(w.kind, o.kind)) < 0
}

// wakes are those of an operator.
type wakes[K comparable] struct{ heap[wake[K]] }

// next is the first moment in the heap.
func (h *wakes[K]) next() int64 {
	if len(h.heap) == 0 {
		return window.Never
	}
	return h.heap[0].at
}
