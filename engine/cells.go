package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// cell is what a window of a key holds where a trigger decides.
type cell[Acc any] struct {
	Seq        uint64 // order of creation; that of the oldest among sessions that have grown together
	Last       int64  // latest timestamp
	N          int64  // records in Acc
	Ended      bool   // the trigger has been told that event time has reached the window's end
	Shown      bool   // emitted at or after the end, and unchanged since
	EventTime  int64  // when the trigger wants to be called
	Processing int64
	Memory     window.Memory
	Acc        Acc

	// Where windows merge, a window is not part of its cell's key, which has a place among those of the key instead, from 0
	// on and without gaps: so a session grows where it is, and one lookup finds the only one of a key.
	Window window.Window
	Others int64 // in the cell at place 0: how many the key has besides
}

// placed is the key of a cell where windows merge.
func placed[K comparable](key K, place int64) bucketKey[K] {
	return bucketKey[K]{Key: key, Start: place}
}

// cells is the state of a window operator with a trigger.
type cells[K comparable, Acc any] struct {
	scope
	kind     string // assigner, trigger and lateness
	merges   bool
	lateness int64
	table    *state.Table[bucketKey[K], cell[Acc]]
	wm       int64
	seq      uint64

	// Indexes of the table, not part of the cut.
	events wakes[K]
	clock  wakes[K]
}

// windowOf is the window of a cell.
func (c *cells[K, Acc]) windowOf(k bucketKey[K], b *cell[Acc]) window.Window {
	if c.merges {
		return b.Window
	}
	return k.window()
}

// cut gives the cells. Behind the table, the manifest has: kind | watermark as a signed varint.
func (c *cells[K, Acc]) cut(int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	f := c.table.Freeze()
	return tableItems(c.scope, f, binary.AppendVarint(appendString(f.AppendManifest(nil), c.kind), c.wm)), nil
}

func (c *cells[K, Acc]) load(items *items, mode RestoreMode) (func(), error) {
	tail := windowTail{kind: c.kind, wm: MaxWatermark}
	table, err := loadTable(items, c.scope, c.table, tail.decode, func(k bucketKey[K], v cell[Acc]) Entry {
		return Entry{Key: fmt.Sprint(k.Key), Window: c.windowOf(k, &v), Last: v.Last, Content: fmt.Sprint(v.Acc)}
	})
	if err == nil && c.merges {
		err = checkPlaces(table)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if mode == Adopt {
			c.table, c.wm = table, tail.wm
			c.index()
		}
	}, nil
}

// checkPlaces checks that the sessions of each key are at places without gaps, of which the first knows how many there are.
func checkPlaces[K comparable, Acc any](table *state.Table[bucketKey[K], cell[Acc]]) error {
	for k, v := range table.All() {
		first, ok := table.Get(placed(k.Key, 0))
		whole := ok && k.Start >= 0 && k.Start <= first.Others && k.End == 0
		if k.Start == 0 {
			for place := int64(1); whole && place <= v.Others; place++ {
				_, whole = table.Get(placed(k.Key, place))
			}
		}
		if !whole {
			return fmt.Errorf("sessions of key %v: %w", k.Key, ErrCorrupt)
		}
	}
	return nil
}

// index makes the indexes from the table.
func (c *cells[K, Acc]) index() {
	c.seq, c.events, c.clock = 0, wakes[K]{}, wakes[K]{}
	for k, v := range c.table.All() {
		c.scheduleEnd(k, &v)
		c.scheduleAsked(k, &v)
		c.seq = max(c.seq, v.Seq+1)
	}
}

// scheduleEnd puts the end of a window, or what follows it, in the heap.
func (c *cells[K, Acc]) scheduleEnd(k bucketKey[K], b *cell[Acc]) {
	w := wake[K]{window: c.windowOf(k, b), seq: b.Seq, kind: wakeEnd, key: k.Key}
	w.at = w.window.End
	if b.Ended {
		w.at, w.kind = c.expiry(w.window), wakeExpiry
	}
	c.events.push(w)
}

// scheduleAsked puts what the trigger waits for in the heaps.
func (c *cells[K, Acc]) scheduleAsked(k bucketKey[K], b *cell[Acc]) {
	w := wake[K]{window: c.windowOf(k, b), seq: b.Seq, kind: wakeAsked, key: k.Key}
	if w.at = b.EventTime; w.at != window.Never {
		c.events.push(w)
	}
	if w.at = b.Processing; w.at != window.Never {
		c.clock.push(w)
	}
}

// now is how far event time has come.
func (c *cells[K, Acc]) now() int64 { return addTime(c.wm, 1) }

// expiry is when a window is forgotten, in event time.
func (c *cells[K, Acc]) expiry(w window.Window) int64 { return addTime(w.End, c.lateness) }

// find gives the bucket that a wake means, if it is still there.
func (c *cells[K, Acc]) find(w wake[K]) (bucketKey[K], *cell[Acc]) {
	if c.merges {
		return c.session(w.key, w.seq)
	}
	k := bucketKey[K]{w.key, w.window.Start, w.window.End}
	if b := c.table.Ref(k); b != nil && b.Seq == w.seq {
		return k, b
	}
	return k, nil
}

// forget removes a bucket.
func (c *cells[K, Acc]) forget(k bucketKey[K]) {
	if c.merges {
		c.leave(k)
		return
	}
	c.table.Delete(k)
}

// addTime adds a duration that is not negative and stops at the end of time.
func addTime(t, d int64) int64 {
	if t+d < t {
		return window.Never
	}
	return t + d
}
