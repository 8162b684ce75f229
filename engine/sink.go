package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// sinkNode is a sink of the graph.
type sinkNode struct {
	at      *place
	connect func(*task)
}

// Sink is a sink of a graph, whose state can be given a name.
type Sink struct {
	g   *Graph
	key *sinkKey
}

// WithUID names the state of the sink, instead of its number in the graph; see [Stream.WithUID].
func (s Sink) WithUID(uid string) Sink {
	s.g.identify(s.key, uid)
	return s
}

// sinkKey tells sinks apart.
type sinkKey struct{ _ byte }

// sinkPart is a sink that writes, or commits, outside the checkpoint lock. All subtasks share it.
type sinkPart interface {
	part
	open(ctx context.Context) error
	// full says whether flush would do something worth doing; it is asked between records.
	full() bool
	// flush writes what waits in memory.
	flush(ctx context.Context) error
	close() error
	completed(ctx context.Context, id int64) error
	aborted(ctx context.Context, id int64) error
}

// sinkOf finds what all subtasks of a sink share, which whoever comes first makes; it is part of the cut.
func sinkOf[S part](t *task, key any, create func() S) S {
	p := t.exec.pipeline
	sink, ok := p.shared[key].(S)
	if !ok {
		sink = create()
		p.shared[key] = sink
		p.register(t.exec, sink)
	}
	return sink
}

// writingSinkOf is sinkOf for sinks that write, or commit.
func writingSinkOf[S sinkPart](t *task, key any, create func() S) S {
	sink, p := sinkOf(t, key, create), t.exec.pipeline
	t.sinks = append(t.sinks, sink)
	if !slices.Contains(p.sinks, sinkPart(sink)) {
		p.sinks = append(p.sinks, sink)
	}
	return sink
}

// callOutput calls an output outside the checkpoint lock. It makes an error of a panic, and names the sink in every error.
func callOutput(sink, what string, f func() error) error {
	if err := guard(f); err != nil {
		return &OperatorError{Operator: sink, What: what, Err: err}
	}
	return nil
}

// writers counts the subtasks of a sink whose input has not ended.
type writers struct{ left atomic.Int32 }

// writersOf finds the writers of a sink in an execution, and adds one.
func writersOf(t *task, key any) *writers {
	w, ok := t.exec.shared[key].(*writers)
	if !ok {
		w = &writers{}
		t.exec.shared[key] = w
	}
	w.left.Add(1)
	return w
}

// ForEach hands every record to f; an error ends the run. It is at least once: after an adopted cut, f sees again what came
// after the cut.
func ForEach[T any](s Stream[T], f func(c Context, v T) error) {
	g := s.graph()
	op := g.operator("sink", "sink invocation failed")
	g.need(op, "function", f != nil)
	g.sink(s.origin().at, func(t *task) {
		t.fenced = t.fenced || !s.origin().sparse
		s.connect(t, &funcSink[T]{task: t, op: op, f: f})
	})
}

type funcSink[T any] struct {
	task *task
	op   *operator
	f    func(Context, T) error
	noSignals
}

func (o *funcSink[T]) record(v T, ts int64) error {
	o.task.at = o.op
	if err := o.f(o.task.context(ts), v); err != nil {
		return o.task.fault(o.op, err)
	}
	o.task.out++
	return nil
}

// Rows is a slice that a pipeline appends to. It outlives the pipeline: give the same Rows to the graph of the next run, and
// restoring a cut brings it back to what it was at the cut (Adopt) or empties it (Fresh), so that each row is in it
// exactly once. The zero value is empty and ready.
type Rows[T any] struct {
	mu   sync.Mutex
	rows []T
}

// All returns a copy of the rows.
func (r *Rows[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

// Len is the number of rows.
func (r *Rows[T]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.rows)
}

func (r *Rows[T]) append(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, v)
}

func (r *Rows[T]) truncate(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.rows[n:])
	r.rows = r.rows[:n]
}

// ToRows appends every record to rows. Its length is part of the cut as "rows-N".
func ToRows[T any](s Stream[T], rows *Rows[T]) Sink {
	g := s.graph()
	op := g.operator("rows", "sink invocation failed")
	g.need(op, "rows", rows != nil)
	key := new(sinkKey)
	g.sink(s.origin().at, func(t *task) {
		sinkOf(t, key, func() *rowsSink[T] { return &rowsSink[T]{rows, t.exec.name(key, "rows")} })
		s.connect(t, &rowsOp[T]{task: t, rows: rows})
	})
	return Sink{g, key}
}

type rowsOp[T any] struct {
	task *task
	rows *Rows[T]
	noSignals
}

func (o *rowsOp[T]) record(v T, _ int64) error {
	o.rows.append(v)
	o.task.out++
	return nil
}

type rowsSink[T any] struct {
	rows *Rows[T]
	name string
}

func (o *rowsSink[T]) partName() string { return o.name }

func (o *rowsSink[T]) cut(int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	return []Item{bytesItem(o.name, appendRows(nil, o.rows.Len()))}, nil
}

func (o *rowsSink[T]) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(o.name)
	if err != nil {
		return nil, err
	}
	n, err := decodeRows(b)
	if err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: o.name, Content: fmt.Sprintf("%d rows", n)})
	if mode != Adopt {
		return func() { o.rows.truncate(0) }, nil
	}
	if have := o.rows.Len(); uint64(have) < n {
		return nil, fmt.Errorf("the cut has %d rows, the slice %d: %w", n, have, ErrLost)
	}
	return func() { o.rows.truncate(int(n)) }, nil
}

// appendRows writes the item of a slice sink: 'L' 1 | rows.
func appendRows(b []byte, n int) []byte {
	return binary.AppendUvarint(append(b, 'L', itemVersion), uint64(n))
}

func decodeRows(b []byte) (uint64, error) {
	d := newDecoder(b, 'L')
	n := d.uvarint()
	return n, d.finish()
}
