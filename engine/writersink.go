package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// ToWriter writes every record to w as a line, as [fmt.Fprintln] does, soon after it was processed and in one Write; an error of
// w ends the run. A write that blocks holds up the run, not a cut. It is at least once: the cut, as "writer-N", is durable as
// far as w is, since encoding it first writes the lines up to there.
func ToWriter[T any](s Stream[T], w io.Writer) Sink {
	g := s.graph()
	op := g.operator("writer", "sink invocation failed")
	g.need(op, "writer", w != nil)
	key := new(sinkKey)
	g.sink(s.origin().at, func(t *task) {
		sink := writingSinkOf(t, key, func() *writerSink { return &writerSink{name: t.exec.name(key, "writer"), w: w} })
		s.connect(t, &writerOp[T]{task: t, op: op, sink: sink})
	})
	return Sink{g, key}
}

type writerOp[T any] struct {
	task *task
	op   *operator
	sink *writerSink
	noSignals
}

func (o *writerOp[T]) record(v T, _ int64) error {
	o.task.at = o.op
	line := fmt.Sprintln(v)
	o.sink.mu.Lock()
	defer o.sink.mu.Unlock()
	o.sink.buf.WriteString(line)
	o.sink.lines++
	o.sink.unwritten.Store(true)
	o.task.out++
	return nil
}

// writerSink is the writer as a part of the cut. Two locks: io for the writer, mu for the memory in front of it; mu is taken last.
type writerSink struct {
	name      string
	unwritten atomic.Bool

	mu    sync.Mutex
	buf   bytes.Buffer
	lines uint64

	io  sync.Mutex
	w   io.Writer
	err error // the first; nothing is written after it
}

func (o *writerSink) partName() string           { return o.name }
func (o *writerSink) open(context.Context) error { return nil }
func (o *writerSink) full() bool                 { return o.unwritten.Load() }

func (o *writerSink) flush(context.Context) error { return o.write() }

// write gives the lines that are in memory to the writer.
func (o *writerSink) write() error {
	o.io.Lock()
	defer o.io.Unlock()
	if o.err != nil {
		return o.err
	}
	o.mu.Lock()
	lines := bytes.Clone(o.buf.Bytes())
	o.buf.Reset()
	o.unwritten.Store(false)
	o.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	o.err = callOutput(o.name, "write lines", func() error {
		_, err := o.w.Write(lines)
		return err
	})
	return o.err
}

// close writes what is left; an error that has ended the run is not reported again.
func (o *writerSink) close() error {
	if !o.full() {
		return nil
	}
	return o.write()
}

func (o *writerSink) completed(context.Context, int64) error { return nil }
func (o *writerSink) aborted(context.Context, int64) error   { return nil }

// cut is the number of lines, under 'N' 1 | lines.
func (o *writerSink) cut(int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	o.mu.Lock()
	b := binary.AppendUvarint(append([]byte(nil), 'N', itemVersion), o.lines)
	o.mu.Unlock()
	return []Item{{Name: o.name, encode: func() ([]byte, error) {
		return bytes.Clone(b), o.write()
	}}}, nil
}

func (o *writerSink) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(o.name)
	if err != nil {
		return nil, err
	}
	d := newDecoder(b, 'N')
	lines := d.uvarint()
	if err := d.finish(); err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: o.name, Content: fmt.Sprintf("%d lines", lines)})
	return func() {
		if mode == Adopt {
			o.lines = lines
		}
	}, nil
}
