package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
)

// MaxWatermark is the watermark of a source that has ended.
const MaxWatermark int64 = math.MaxInt64

// sourcePart is a source of any type, within the task that reads it.
type sourcePart interface {
	// read runs the source until it ends, on a goroutine of its own.
	read(ctx context.Context)
	publish()
	progress() SourceProgress
}

// sourceInput is a source within a task.
type sourceInput[T any] struct {
	scope
	op     *operator
	number uint16 // of the source in its pipeline, from 1
	src    Source[T]
	out    *output[T]
	ring   *ring[slot[T]]

	err    error // of the source; written before closed
	closed atomic.Bool

	// All below is guarded by the checkpoint lock.
	head    uint64
	records int64 // processed, in all runs since FRESH
	next    int64 // where reading resumes after the last processed record
	done    bool  // ended, and all behind it flushed

	shown struct {
		records, next atomic.Int64
		done          atomic.Bool
	}
}

// slot is one record on its way from a source to the pipeline.
type slot[T any] struct {
	val  T
	ts   int64
	next int64 // where reading resumes after this record
}

func (in *sourceInput[T]) read(ctx context.Context) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			in.err = &PanicError{Value: v, Stack: debug.Stack()}
		} else if !returned {
			in.err = errGone // else it would look like the end of the input
		}
		in.ring.publish()
		in.closed.Store(true)
		in.ring.bell.ring()
	}()
	if !in.done {
		in.err = in.src.Run(ctx, &Collector[T]{ctx: ctx, ring: in.ring, from: in.next, next: in.next, count: in.records})
	}
	returned = true
}

// ready looks at closed first: what was pushed before the end is then seen by drain.
func (in *sourceInput[T]) ready() bool {
	return in.closed.Load() || in.ring.tail.Load() != in.head
}

func (in *sourceInput[T]) quiet() bool { return in.done || !in.ready() }

func (in *sourceInput[T]) absent() bool { return false }

func (in *sourceInput[T]) settle(*task) error { return nil }

func (in *sourceInput[T]) drain(t *task) error {
	tail := in.ring.tail.Load()
	if tail == in.head {
		return nil
	}
	err := t.protect(func() error { return in.process(t, min(tail-in.head, chunk)) })
	in.ring.free(in.head)
	return err
}

// process puts n records through the operators, each under the lock as a whole, with room for a cut between them.
func (in *sourceInput[T]) process(t *task, n uint64) error {
	for i := range n {
		s := &in.ring.slots[in.head&in.ring.mask]
		t.at = in.op
		t.begin(position{number: in.number, record: in.records + 1, offset: in.next})
		if len(t.clocked) > 0 {
			if err := t.tick(); err != nil {
				return err
			}
			t.at = in.op
		}
		if err := in.out.record(s.val, s.ts); err != nil {
			return err
		}
		in.head++
		in.records++
		in.next = s.next
		if i%publishEvery == publishEvery-1 {
			t.publish()
		}
		if err := t.between(); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the stream behind the source, once there is nothing left to read. One that had ended at the cut says so again.
func (in *sourceInput[T]) finish(t *task) (bool, error) {
	if !in.closed.Load() || in.ring.tail.Load() != in.head {
		return false, nil
	}
	if t.exec.ctx.Err() != nil {
		// A source that was told to stop may return nil; its input has not ended, and nothing is to be flushed.
		return false, context.Cause(t.exec.ctx)
	}
	if in.err != nil {
		t.exec.sourceFailed.Store(true)
		return false, &OperatorError{
			Operator: in.name, What: in.op.what, Source: in.name, Record: in.records + 1, Offset: in.next, Err: in.err,
		}
	}
	return true, t.protect(func() error {
		t.begin(position{number: in.number, offset: in.next})
		if err := in.out.watermark(MaxWatermark); err != nil {
			return err
		}
		in.done = true
		return nil
	})
}

func (in *sourceInput[T]) publish() {
	in.shown.records.Store(in.records)
	in.shown.next.Store(in.next)
	in.shown.done.Store(in.done)
}

func (in *sourceInput[T]) progress() SourceProgress {
	return SourceProgress{Name: in.name, Records: in.shown.records.Load(), Offset: in.shown.next.Load(), Done: in.shown.done.Load()}
}

// cut gives the position of the last processed record: what waits in the ring is not part of the cut, it is read again.
func (in *sourceInput[T]) cut(int64) ([]Item, error) {
	return []Item{bytesItem(in.partName(), appendSource(nil, sourceState{in.records, in.next, in.done}))}, nil
}

func (in *sourceInput[T]) load(items *items, mode RestoreMode) (func(), error) {
	name := in.stored(items)[0] // one subtask has it
	b, err := items.take(name)
	if err != nil {
		return nil, err
	}
	s, err := decodeSource(b)
	if err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: name, Content: fmt.Sprintf("records %d, offset %d, done %t", s.records, s.next, s.done)})
	if mode != Adopt {
		return func() {}, nil
	}
	if !in.src.Seekable() {
		return nil, ErrNotSeekable
	}
	return func() { in.records, in.next, in.done = s.records, s.next, s.done }, nil
}

// sourceState is the item of a source: 'S' 1 | records | offset | done, the numbers as signed varints.
type sourceState struct {
	records, next int64
	done          bool
}

func appendSource(b []byte, s sourceState) []byte {
	b = binary.AppendVarint(binary.AppendVarint(append(b, 'S', itemVersion), s.records), s.next)
	return appendBool(b, s.done)
}

func decodeSource(b []byte) (sourceState, error) {
	d := newDecoder(b, 'S')
	s := sourceState{records: d.varint(), next: d.varint(), done: d.bool()}
	if err := d.finish(); err != nil {
		return sourceState{}, err
	}
	if s.records < 0 {
		return sourceState{}, fmt.Errorf("%d records: %w", s.records, ErrCorrupt)
	}
	return s, nil
}
