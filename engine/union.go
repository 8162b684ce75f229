package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Union is one stream of the records of all given streams, as they come. Its watermark is the lowest of theirs, so a stream
// without watermarks holds it back until it ends. Between records of different sources the order depends on how they come;
// within one stream it stays. The watermarks are part of the cut as "union-N".
func Union[T any](first Stream[T], others ...Stream[T]) Stream[T] {
	g := first.graph()
	op := g.operator("union", "union failed")
	all := append([]Stream[T]{first}, others...)
	for _, s := range others {
		if s.graph() != g {
			g.fail(op.name, fmt.Errorf("streams of two graphs: %w", ErrInvalid))
		}
	}
	return newStream(g, func(t *task, out *output[T]) {
		u := &unionState{name: t.name("union"), marks: slices.Repeat([]int64{MinWatermark}, len(all)), last: MinWatermark}
		t.register(u)
		for i, s := range all {
			s.connect(t, &unionOp[T]{unionState: u, input: i, out: out})
		}
	})
}

// unionOp is one input of a union.
type unionOp[T any] struct {
	*unionState
	input int
	out   *output[T]
}

func (o *unionOp[T]) record(v T, ts int64) error { return o.out.record(v, ts) }

func (o *unionOp[T]) watermark(wm int64) error {
	o.marks[o.input] = max(o.marks[o.input], wm)
	if least := slices.Min(o.marks); least > o.last {
		o.last = least
		return o.out.watermark(least)
	}
	return nil
}

// unionState is the watermarks of all inputs, and what has been passed on, which is the lowest of them.
type unionState struct {
	name  string
	marks []int64
	last  int64
}

func (u *unionState) partName() string { return u.name }

func (u *unionState) cut(int64) ([]Item, error) {
	return []Item{bytesItem(u.name, appendUnion(nil, u.marks))}, nil
}

func (u *unionState) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(u.name)
	if err != nil {
		return nil, err
	}
	marks, err := decodeUnion(b)
	if err != nil {
		return nil, err
	}
	if len(marks) != len(u.marks) {
		return nil, fmt.Errorf("stored union of %d streams, now %d: %w", len(marks), len(u.marks), ErrCorrupt)
	}
	items.noteOne(Entry{Item: u.name, Content: fmt.Sprintf("watermarks %d", marks)})
	return func() {
		if mode == Adopt {
			u.marks, u.last = marks, slices.Min(marks)
		}
	}, nil
}

// appendUnion writes the item of a union: 'U' 1 | inputs | the watermark of each as a signed varint.
func appendUnion(b []byte, marks []int64) []byte {
	b = binary.AppendUvarint(append(b, 'U', itemVersion), uint64(len(marks)))
	for _, wm := range marks {
		b = binary.AppendVarint(b, wm)
	}
	return b
}

func decodeUnion(b []byte) (marks []int64, err error) {
	d := newDecoder(b, 'U')
	n := d.uvarint()
	for i := uint64(0); i < n && d.err == nil; i++ {
		marks = append(marks, d.varint())
	}
	return marks, d.finish()
}
