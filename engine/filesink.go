package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// flushAt is how many bytes of rows a file sink gathers before it writes them: one write for about a thousand rows.
const flushAt = 64 << 10

// ToFile writes one row per record to the file at path, each exactly once, whatever is killed or paused meanwhile. format
// appends one row to dst, without the line end; an error ends the run.
//
// The file at path appears when the job has ended and a checkpoint taken after the end has been completed
// ([Pipeline.Completed], or [Pipeline.Finish]): whole, never to change again. Until then each attempt writes a part of its
// own beside it (path.part-1-5f3a90c2, …), and the cut, as "file-N", says which parts hold how many committed bytes; use
// [OpenCommitted] to read exactly those. Bytes beyond were written by attempts that died: they were never committed, and
// no reader counts them. A path belongs to one task of one job: a run that starts from nothing is refused
// ([ErrOutputExists]) where the file exists already.
func ToFile[T any](s Stream[T], path string, format func(dst []byte, v T) ([]byte, error)) Sink {
	g := s.graph()
	op := g.operator("file", "sink invocation failed")
	g.need(op, "format function", format != nil)
	if path == "" {
		g.fail(op.name, fmt.Errorf("empty path: %w", ErrInvalid))
	}
	g.claimPath(op, path)
	key := new(sinkKey)
	g.sink(s.origin().at, func(t *task) {
		sink := writingSinkOf(t, key, func() *fileSink { return &fileSink{t.exec.name(key, "file"), newParts(path)} })
		s.connect(t, &fileOp[T]{task: t, op: op, format: format, sink: sink, writers: writersOf(t, key)})
	})
	return Sink{g, key}
}

// JSONRow formats a record as a line of JSON, for [ToFile].
func JSONRow[T any](dst []byte, v T) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("format row: %w", err)
	}
	return append(dst, b...), nil
}

// fileOp formats records under the checkpoint lock; all writing happens in parts, outside of it.
type fileOp[T any] struct {
	task    *task
	op      *operator
	format  func(dst []byte, v T) ([]byte, error)
	sink    *fileSink
	row     []byte // scratch
	writers *writers
	ended   bool
}

func (o *fileOp[T]) record(v T, _ int64) error {
	o.task.at = o.op
	row, err := o.format(o.row[:0], v)
	if err != nil {
		return o.task.fault(o.op, err)
	}
	o.row = append(row, '\n')
	o.sink.parts.append(o.row)
	o.task.out++
	return nil
}

// watermark at the end of the input closes the output, once it is that of every subtask: a cut from here on is the whole of it.
func (o *fileOp[T]) watermark(wm int64) error {
	if wm == MaxWatermark && !o.ended {
		o.ended = true
		if o.writers.left.Add(-1) == 0 {
			o.sink.parts.end()
		}
	}
	return nil
}

func (o *fileOp[T]) idle(bool) error { return nil }

// fileSink is the file as a part of the cut.
type fileSink struct {
	name  string
	parts *parts
}

func (o *fileSink) partName() string { return o.name }

// cut gives the position as of now. Encoding it first brings the file that far.
func (o *fileSink) cut(id int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	s := o.parts.position(id)
	return []Item{{Name: o.name, encode: func() ([]byte, error) {
		if err := o.parts.sync(s); err != nil {
			return nil, err
		}
		return appendFileState(nil, s), nil
	}}}, nil
}

func (o *fileSink) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(o.name)
	if err != nil {
		return nil, err
	}
	s, err := decodeFileState(b)
	if err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: o.name, Content: fmt.Sprintf("%d parts, %d bytes, done %t", len(s.Parts), s.length(), s.Done)})
	if mode != Adopt {
		return func() {}, nil
	}
	if err := o.parts.check(s); err != nil {
		return nil, err
	}
	return func() { o.parts.adopt(s) }, nil
}

func (o *fileSink) open(context.Context) error {
	return o.wrap(o.parts.open())
}

func (o *fileSink) full() bool { return o.parts.buffered() >= flushAt }

func (o *fileSink) flush(context.Context) error { return o.wrap(o.parts.flush()) }

func (o *fileSink) close() error { return o.wrap(o.parts.close()) }

func (o *fileSink) completed(_ context.Context, id int64) error {
	return o.wrap(o.parts.completed(id))
}

func (o *fileSink) aborted(context.Context, int64) error { return nil }

// wrap names the sink in an error that no single record has caused.
func (o *fileSink) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &OperatorError{Operator: o.name, What: "write " + filepath.Base(o.parts.path), Err: err}
}
