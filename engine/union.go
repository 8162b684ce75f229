package engine

import "fmt"

// Union is one stream of the records of all given streams, as they come. Its watermark is the lowest of those that are not
// idle, so a stream without watermarks holds it back until it ends. Between records of different sources the order depends
// on how they come; within one stream it stays. The watermarks are part of the cut as "union-N".
func Union[T any](first Stream[T], others ...Stream[T]) Stream[T] {
	g := first.graph()
	op := g.operator("union", "union failed")
	all := append([]Stream[T]{first}, others...)
	from := first.origin()
	together := true
	for _, s := range others {
		if s.graph() != g {
			g.fail(op.name, fmt.Errorf("streams of two graphs: %w", ErrInvalid))
		}
		o := s.origin()
		from.timed = from.timed || o.timed
		together = together && o.at == from.at
	}
	if !together {
		from.at = &place{}
		for i, s := range all {
			all[i] = moved(s, from.at, op, sameSubtask)
		}
	}
	u := newStream[T](g, from, nil)
	u.n.make = func(t *task, out *output[T]) []input {
		state := &unionState{scope: t.scope(t.exec.name(u.n, "union")), merge: newMerge(len(all))}
		var ins []input
		for i, s := range all {
			ins = append(ins, s.connect(t, &unionOp[T]{unionState: state, input: i, out: out})...)
		}
		if !allAbsent(ins) {
			t.exec.register(state)
			t.announcers = append(t.announcers, announcing(func() error { return state.merge.announce(out) }))
		}
		return ins
	}
	return u
}

// announcing is an announcer made of a function.
type announcing func() error

func (f announcing) announce() error { return f() }

// unionOp is one input of a union.
type unionOp[T any] struct {
	*unionState
	input int
	out   *output[T]
}

func (o *unionOp[T]) record(v T, ts int64) error { return o.out.record(v, ts) }
func (o *unionOp[T]) watermark(wm int64) error   { return o.merge.setMark(o.input, wm, o.out) }
func (o *unionOp[T]) idle(idle bool) error       { return o.merge.setIdle(o.input, idle, o.out) }

// unionState is the watermarks of all inputs, and what has been passed on.
type unionState struct {
	scope
	merge merge
}

func (u *unionState) cut(int64) ([]Item, error) {
	return []Item{bytesItem(u.partName(), appendUnion(nil, u.merge))}, nil
}

func (u *unionState) load(items *items, mode RestoreMode) (func(), error) {
	var all *merge
	for _, name := range u.stored(items) {
		b, err := items.take(name)
		if err != nil {
			return nil, err
		}
		m, err := decodeUnion(b, len(u.merge.inputs))
		if err != nil {
			return nil, err
		}
		items.noteOne(Entry{Item: name, Content: m.String()})
		if all == nil {
			all = &m
		} else {
			all.least(m)
		}
	}
	return func() {
		if mode == Adopt {
			u.merge = *all
		}
	}, nil
}

// appendUnion writes the item of a union: 'U' 2 | merge, see [appendMerge].
func appendUnion(b []byte, m merge) []byte { return appendMerge(append(b, 'U', 2), m) }

// decodeUnion reads the item of a union. Layout 1 had: inputs | the watermark of each.
func decodeUnion(b []byte, inputs int) (merge, error) {
	d, version := newDecoderOf(b, 'U', 2)
	if version == 2 {
		m := d.merge(inputs)
		return m, d.finish()
	}
	m := newMerge(inputs)
	if n := d.uvarint(); d.err == nil && n != uint64(inputs) {
		d.err = fmt.Errorf("stored with %d inputs, now %d: %w", n, inputs, ErrCorrupt)
	}
	m.last = MaxWatermark
	for i := range m.inputs {
		m.inputs[i].mark = d.varint()
		m.last = min(m.last, m.inputs[i].mark)
	}
	return m, d.finish()
}
