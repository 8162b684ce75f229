package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
)

func (x *exchange[K, T]) partName() string { return x.name }

// transit is what was under way in one channel at a cut.
type transit[K comparable, T any] struct {
	elements []element[K, T]
	bytes    []byte // instead, if records refer to something that a function may still change
}

// cut holds what is under way, under 'X' 1 | senders | receivers | the merge of each receiver ([appendMerge]) | of each receiver,
// of each sender: elements, each. It is what lies in the outbox, the ring and in the gate of every channel. Of records that are flat that is a
// copy; others are encoded at once. Either is bounded by the queues.
func (x *exchange[K, T]) cut(int64) ([]Item, error) {
	head := binary.AppendUvarint(append([]byte(nil), 'X', itemVersion), uint64(len(x.senders)))
	head = binary.AppendUvarint(head, uint64(len(x.gates)))
	var under []transit[K, T]
	for r, g := range x.gates {
		head = appendMerge(head, g.merge)
		for s := range g.channels {
			t, err := x.transit(&g.channels[s], &x.senders[s].boxes[r])
			if err != nil {
				return nil, err
			}
			under = append(under, t)
		}
	}
	return []Item{{Name: x.name, encode: func() (b []byte, err error) {
		b = slices.Clone(head)
		for _, t := range under {
			if b, err = x.appendTransit(b, t); err != nil {
				return nil, err
			}
		}
		return b, nil
	}}}, nil
}

// transit takes what is under way in one channel, in order.
func (x *exchange[K, T]) transit(c *channel[K, T], box *outbox[K, T]) (transit[K, T], error) {
	tail := c.ring.tail.Load()
	t := transit[K, T]{elements: slices.Clone(c.restored)}
	for head := c.head; head != tail; head++ {
		t.elements = append(t.elements, c.ring.slots[head&c.ring.mask])
	}
	t.elements = append(t.elements, box.unsent(tail)...)
	if x.vals.Flat() {
		return t, nil
	}
	b, err := x.appendTransit(nil, t)
	return transit[K, T]{bytes: b}, err
}

// appendTransit writes: elements | each.
func (x *exchange[K, T]) appendTransit(b []byte, t transit[K, T]) (_ []byte, err error) {
	if t.bytes != nil {
		return append(b, t.bytes...), nil
	}
	b = binary.AppendUvarint(b, uint64(len(t.elements)))
	for i := range t.elements {
		if b, err = x.vals.Append(b, &t.elements[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// load puts what was under way back into the channels. It is for the same number of subtasks alone; for another, what is
// under way is processed first ([execution.settle]), and nothing of it is left.
func (x *exchange[K, T]) load(items *items, mode RestoreMode) (func(), error) {
	if items.parallelism != x.senders[0].task.exec.parallelism {
		return func() {}, nil
	}
	b, err := items.take(x.name)
	if err != nil {
		return nil, err
	}
	merges, under, err := x.decode(b)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, list := range under {
		n += len(list)
	}
	items.noteOne(Entry{Item: x.name, Content: fmt.Sprintf("%d elements under way", n)})
	return func() {
		if mode != Adopt {
			return
		}
		for i, g := range x.gates {
			g.merge = merges[i]
			for s := range g.channels {
				g.channels[s].restored = under[i*len(x.senders)+s]
			}
		}
	}, nil
}

func (x *exchange[K, T]) decode(b []byte) (merges []merge, under [][]element[K, T], err error) {
	d := newDecoder(b, 'X')
	if s, r := d.uvarint(), d.uvarint(); d.err == nil && (s != uint64(len(x.senders)) || r != uint64(len(x.gates))) {
		return nil, nil, fmt.Errorf("stored between %d and %d subtasks, now %d and %d: %w", s, r, len(x.senders), len(x.gates), ErrCorrupt)
	}
	for range x.gates {
		merges = append(merges, d.merge(len(x.senders)))
	}
	for range len(x.gates) * len(x.senders) {
		under = append(under, x.decodeTransit(d))
	}
	return merges, under, d.finish()
}

func (x *exchange[K, T]) decodeTransit(d *decoder) (list []element[K, T]) {
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		var e element[K, T]
		if d.b, d.err = x.vals.Decode(d.b, &e); d.err == nil && e.Kind >= elementKinds {
			d.err = fmt.Errorf("element of kind %d: %w", e.Kind, ErrCorrupt)
		}
		list = append(list, e)
	}
	return list
}

// settle processes what was under way in front of one task, when nothing runs.
func (g *gate[K, T]) settle(t *task) error {
	for i := range g.channels {
		c := &g.channels[i]
		c.absorb()
		if err := t.protect(func() error { return g.process(i, c, 0) }); err != nil {
			return err
		}
	}
	return nil
}

// settle moves what the task has gathered straight to the gates, when nothing runs.
func (s *sender[K, T]) settle() {
	for r := range s.boxes {
		b, c := &s.boxes[r], &s.x.gates[r].channels[s.index]
		c.absorb()
		c.restored = append(c.restored, b.unsent(c.head)...)
		b.buf, b.base = nil, c.head
	}
}
