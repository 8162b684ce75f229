package engine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/state"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// bucketKey is one window of one key. Its key group is that of the key.
type bucketKey[K comparable] struct {
	Key        K
	Start, End int64
}

func (k bucketKey[K]) window() window.Window { return window.Window{Start: k.Start, End: k.End} }

// bucket is what a window holds.
type bucket[Acc any] struct {
	Seq  uint64 // order of creation, in which buckets of one window are emitted
	Last int64  // latest timestamp
	Acc  Acc
}

// buckets is the state of a window operator: every open bucket, and which to emit next.
type buckets[K comparable, Acc any] struct {
	scope
	kind  string // the assigner, and how its windows are kept
	table *state.Table[bucketKey[K], bucket[Acc]]
	wm    int64
	seq   uint64
	open  []pane[K] // by end, then start; an index of the table, not part of the cut
	due   int64     // the last moment of the first of them, else window.Never
	spare []K       // the keys of the last emitted pane, to be used again
}

// pane is one open window with its keys in the order of their first record.
type pane[K comparable] struct {
	window.Window
	keys []K
}

// remember puts a new bucket in the index. There are few open windows, and mostly the last is meant.
func (b *buckets[K, Acc]) remember(k bucketKey[K]) {
	w := k.window()
	i, found := slices.BinarySearchFunc(b.open, w, func(p pane[K], w window.Window) int {
		return cmp.Or(cmp.Compare(p.End, w.End), cmp.Compare(p.Start, w.Start))
	})
	if !found {
		b.open = slices.Insert(b.open, i, pane[K]{Window: w, keys: b.spare})
		b.spare = nil
		b.due = b.open[0].MaxTimestamp()
	}
	b.open[i].keys = append(b.open[i].keys, k.Key)
}

// next takes the first window off the index.
func (b *buckets[K, Acc]) next() pane[K] {
	p := b.open[0]
	b.open[0] = pane[K]{}
	b.open, b.due = b.open[1:], window.Never
	if len(b.open) > 0 {
		b.due = b.open[0].MaxTimestamp()
	}
	return p
}

// cut gives the buckets. Behind the table, the manifest has: kind | watermark as a signed varint.
func (b *buckets[K, Acc]) cut(int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	f := b.table.Freeze()
	manifest := binary.AppendVarint(appendString(f.AppendManifest(nil), b.kind), b.wm)
	return tableItems(b.scope, f, manifest), nil
}

func (b *buckets[K, Acc]) load(items *items, mode RestoreMode) (func(), error) {
	return b.loadWith(items, mode, windowTail{kind: b.kind, wm: MaxWatermark}, func() { b.rebuild(b.inOrder()) })
}

// loadWith calls index when the buckets are in place.
func (b *buckets[K, Acc]) loadWith(items *items, mode RestoreMode, tail windowTail, index func()) (func(), error) {
	table, err := loadTable(items, b.scope, b.table, tail.decode, func(k bucketKey[K], v bucket[Acc]) Entry {
		return Entry{Key: fmt.Sprint(k.Key), Window: k.window(), Last: v.Last, Content: fmt.Sprint(v.Acc)}
	})
	if err != nil {
		return nil, err
	}
	return func() {
		if mode == Adopt {
			b.table, b.wm = table, tail.wm
			index()
		}
	}, nil
}

// windowTail is what follows the table in the manifest of a window operator; of several subtasks, the lowest watermark.
type windowTail struct {
	kind  string
	wm    int64
	level bool // all must have the same
	some  bool // one has been read
}

func (w *windowTail) decode(rest []byte) error {
	d := &decoder{b: rest}
	stored, wm := d.string(), d.varint()
	if err := d.finish(); err != nil {
		return err
	}
	if stored != w.kind {
		return fmt.Errorf("stored windows are %s, now %s: %w", stored, w.kind, state.ErrSchema)
	}
	if w.level && w.some && wm != w.wm {
		return fmt.Errorf("stored subtasks have come to %d and %d: %w", w.wm, wm, ErrCorrupt)
	}
	w.wm, w.some = min(w.wm, wm), true
	return nil
}

// numbered is a bucket with its order of creation.
type numbered[K comparable] struct {
	key bucketKey[K]
	seq uint64
}

// inOrder lists the buckets in the order of their creation.
func (b *buckets[K, Acc]) inOrder() []numbered[K] {
	var all []numbered[K]
	for k, v := range b.table.All() {
		all = append(all, numbered[K]{k, v.Seq})
	}
	slices.SortFunc(all, func(x, y numbered[K]) int { return cmp.Compare(x.seq, y.seq) })
	return all
}

// rebuild makes the order of emission.
func (b *buckets[K, Acc]) rebuild(all []numbered[K]) {
	b.open, b.seq, b.due = nil, 0, window.Never
	for _, n := range all {
		b.remember(n.key)
		b.seq = n.seq + 1
	}
}
