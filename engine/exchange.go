package engine

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// exchangeQueue is how many elements may be under way between two subtasks, beside those of one hand-over; fewer
// where [Config].Queue is less. It bounds what a
// cut copies: 4 x 4 subtasks with 256 elements of 64 bytes are 256 KiB.
const exchangeQueue = 256

// handOverAt is how many elements a task gathers for others before it hands them over, which happens between two records.
const handOverAt = 128

// element is what travels between subtasks: a record with its key and where it came from, or a signal.
type element[K comparable, T any] struct {
	Kind   elementKind
	Source uint16 // number of the source, from 1
	TS     int64  // of the record; else the watermark or the time
	Record int64  // number in its source, from 1
	Offset int64
	Key    K
	Value  T
}

type elementKind uint8

const (
	elementRecord elementKind = iota
	elementWatermark
	elementClock
	elementIdle
	elementActive
	elementKinds // how many there are
)

// exchangeKind is what an exchange consists of.
type exchangeKind[K comparable, T any] struct {
	id       any // the node of the graph
	op       *operator
	keys     state.Codec[K]
	from, to *place
	// sender connects what lies before the exchange, within one task of from.
	sender func(*task, *keyedOutput[K, T]) []input
	// router makes the function that says which subtask has a key, for one task of from.
	router func(*task) func(K) int
}

// exchange moves records from the tasks of one place to those of the next. Each pair of tasks has a channel of its own:
//
//	sender: outbox ──hand-over, between records──► ring ──► receiver: gate
//
// A record's body only fills the outbox, so it never blocks. The cut holds what lies in either, and in the gate.
type exchange[K comparable, T any] struct {
	exchangeKind[K, T]
	name    string
	vals    state.Codec[element[K, T]]
	senders []*sender[K, T]
	gates   []*gate[K, T]
}

// exchangeOf finds the exchange of k, which whoever comes first makes, with all that lies before it.
func exchangeOf[K comparable, T any](e *execution, k exchangeKind[K, T]) *exchange[K, T] {
	if x, ok := e.shared[k.id].(*exchange[K, T]); ok {
		return x
	}
	x := &exchange[K, T]{exchangeKind: k, name: e.name(k.id, "exchange")}
	e.shared[k.id] = x
	e.edges = append(e.edges, edge{k.from, k.to})
	vals, err := state.CodecOf[element[K, T]]()
	if err != nil {
		e.fail(fmt.Errorf("%s: records that move between subtasks: %w", k.op.name, err))
	}
	x.vals = vals
	from, to := e.tasksOf(k.from), e.tasksOf(k.to)
	for _, t := range to {
		x.gates = append(x.gates, newGate(x, t, len(from)))
	}
	for i, t := range from {
		s := &sender[K, T]{x: x, index: i, task: t, route: k.router(t), clockAt: MinWatermark}
		for _, g := range x.gates {
			s.boxes = append(s.boxes, outbox[K, T]{ring: g.channels[i].ring})
		}
		x.senders = append(x.senders, s)
		t.outward = append(t.outward, s)
		k.sender(t, &keyedOutput[K, T]{keyedReceiver: s})
	}
	e.register(x)
	return x
}

// receive gives the records for the subtask of t to out.
func (x *exchange[K, T]) receive(t *task, out *keyedOutput[K, T]) input {
	g := x.gates[t.index]
	g.out = out
	t.addInput(g)
	return g
}

// outward is a sender of any type, as its task sees it.
type outward interface {
	// reset makes room for new elements, once those before have been handed over. Under the lock.
	reset()
	// handOver gives away what has been gathered, waiting for space until ctx ends. Never under the lock.
	handOver(ctx context.Context) error
	settle()
}

// sender is one task's end of an exchange.
type sender[K comparable, T any] struct {
	x       *exchange[K, T]
	index   int
	task    *task
	route   func(K) int
	boxes   []outbox[K, T] // by receiving subtask
	clockAt int64
	ended   bool // the end of the input has been said, in this run; nothing follows
}

// outbox gathers what goes to one subtask. Under the task's lock it is appended to; outside, the hand-over only reads it, and
// counts in the ring how far it has come. So whoever holds the lock finds each element either here or in the ring.
type outbox[K comparable, T any] struct {
	buf  []element[K, T]
	base uint64 // number of buf[0] in the ring
	done bool   // all of buf is in the ring
	ring *ring[element[K, T]]
}

// unsent is what the ring does not have yet.
func (b *outbox[K, T]) unsent(tail uint64) []element[K, T] { return b.buf[tail-b.base:] }

func (s *sender[K, T]) keyed(key K, v T, ts int64) error {
	if s.ended { // nobody would take it: the cut that was adopted says so wrongly
		return s.task.fault(s.x.op, fmt.Errorf("record behind the end of the input: %w", ErrCorrupt))
	}
	if s.x.to.clocked && ts > s.clockAt {
		if err := s.recordTime(ts); err != nil {
			return err
		}
	}
	from := &s.task.cur
	b := &s.boxes[s.route(key)]
	b.buf = append(b.buf, element[K, T]{
		Source: from.number, TS: ts, Record: from.record, Offset: from.offset, Key: key, Value: v,
	})
	s.task.gathered++
	return nil
}

func (s *sender[K, T]) watermark(wm int64) error {
	s.signal(element[K, T]{Kind: elementWatermark, TS: wm})
	return nil
}

func (s *sender[K, T]) idle(idle bool) error {
	kind := elementActive
	if idle {
		kind = elementIdle
	}
	s.signal(element[K, T]{Kind: kind})
	return nil
}

// recordTime tells every subtask the time of a record before it comes to one of them.
func (s *sender[K, T]) recordTime(ts int64) error {
	s.clockAt = ts
	s.signal(element[K, T]{Kind: elementClock, TS: ts})
	return nil
}

// signal goes to every subtask. Of two of a kind with no record between them the later stands for both: with rising
// timestamps every record has a watermark behind it, for each of the subtasks. Not so the end of the input: a timer that its own
// function has set for no later than the watermark before still fires, one for later does not.
func (s *sender[K, T]) signal(e element[K, T]) {
	if s.ended {
		return
	}
	s.ended = e.Kind == elementWatermark && e.TS == MaxWatermark
	for i := range s.boxes {
		b := &s.boxes[i]
		if n := len(b.buf); n > 0 && b.buf[n-1].Kind == e.Kind && (e.Kind == elementWatermark || e.Kind == elementClock) && e.TS != MaxWatermark {
			b.buf[n-1].TS = max(b.buf[n-1].TS, e.TS)
			continue
		}
		b.buf = append(b.buf, e)
		s.task.gathered++
	}
}

func (s *sender[K, T]) reset() {
	for i := range s.boxes {
		b := &s.boxes[i]
		if b.done {
			b.base += uint64(len(b.buf))
			clear(b.buf) // what the records refer to
			b.buf, b.done = b.buf[:0], false
			if cap(b.buf) > 64*handOverAt { // one record gave very many
				b.buf = nil
			}
		}
	}
}

func (s *sender[K, T]) handOver(ctx context.Context) error {
	for i := range s.boxes {
		b := &s.boxes[i]
		if b.done || len(b.buf) == 0 {
			continue
		}
		if err := b.ring.pushAll(ctx, b.unsent(b.ring.filled)); err != nil {
			return err
		}
		b.done = true
	}
	return nil
}
