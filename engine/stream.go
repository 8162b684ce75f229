package engine

import "fmt"

// Stream is a flow of records of type T in a graph. It is a value and may be used any number of times: two sinks on one
// stream share one execution of all that lies before it.
type Stream[T any] struct {
	g *Graph
	n *node[T]
}

// node is one operator of the graph, seen from behind.
type node[T any] struct {
	// at is where the operator runs.
	at *place
	// timed says that something before it gives watermarks.
	timed bool
	// sparse says that windows lie before it: few records come for many.
	sparse bool
	// make builds the operator for a task and connects it to what lies before it; it returns the inputs of the task that
	// reach the operator.
	make func(t *task, out *output[T]) []input
}

// newStream adds an operator to g that runs where at is.
func newStream[T any](g *Graph, from origin, build func(t *task, out *output[T]) []input) Stream[T] {
	return Stream[T]{g: g, n: &node[T]{at: from.at, timed: from.timed, sparse: from.sparse, make: build}}
}

// origin is what an operator takes over from the streams before it.
type origin struct {
	at            *place
	timed, sparse bool
}

// place is a part of the graph without an exchange inside: its operators call each other directly. A place is executed by
// one task for each subtask, or by the one task of the pipeline if there is only one.
type place struct {
	// head says that the sources are here.
	head bool
	// clocked says that something here goes by the time of records, since no watermarks or no clock tell it.
	clocked bool
}

func (s Stream[T]) origin() origin {
	if s.n == nil {
		return origin{at: &place{}}
	}
	return origin{s.n.at, s.n.timed, s.n.sparse}
}

// graph returns the graph of s. A zero stream belongs to no graph: what is built on it never becomes part of one.
func (s Stream[T]) graph() *Graph {
	if s.g != nil {
		return s.g
	}
	g := New(Config{})
	g.fail("stream", fmt.Errorf("zero stream: %w", ErrNil))
	return g
}

// WithUID names the state of the operator that s comes from, instead of its number in the graph: "orders" for what would be
// "window-1" or "source-2". State keeps its name then when operators are added, removed or put in another order. A uid is
// unique in the graph, and has none of "/", "@" and "."; anything else is reported by Build.
func (s Stream[T]) WithUID(uid string) Stream[T] {
	s.graph().identify(s.n, uid)
	return s
}

// connect sends the records of s to r, within t. It returns the inputs of t that reach r.
func (s Stream[T]) connect(t *task, r receiver[T]) []input {
	return s.output(t, r)
}

// build makes the operator of s part of the task, whoever reads it.
func (s Stream[T]) build(t *task) []input { return s.output(t, nil) }

func (s Stream[T]) output(t *task, r receiver[T]) []input {
	out, ok := t.outputs[s.n].(*output[T])
	if ok {
		out.add(r)
		return t.reach[s.n]
	}
	out = &output[T]{receiver: nobody[T]{}}
	out.add(r)
	t.outputs[s.n] = out
	ins := s.n.make(t, out)
	t.reach[s.n] = ins
	return ins
}

// signals are what travels between records.
type signals interface {
	// watermark says that no record at or before wm is to be expected any more.
	watermark(wm int64) error
	// idle says that nothing is to be expected for a while, so that the watermark need not be waited for; or that it is again.
	idle(idle bool) error
}

// receiver is an operator, seen from the front. All calls come from the goroutine that holds its task's checkpoint lock.
type receiver[T any] interface {
	signals
	// record takes one record with its timestamp.
	record(v T, ts int64) error
}

// output is where an operator sends its records: straight to the one receiver, or to each of several.
type output[T any] struct {
	receiver[T]
	all fanOut[T]
}

func (o *output[T]) add(r receiver[T]) {
	if r == nil {
		return
	}
	o.all = append(o.all, r)
	o.receiver = r
	if len(o.all) > 1 {
		o.receiver = o.all
	}
}

type fanOut[T any] []receiver[T]

func (f fanOut[T]) record(v T, ts int64) error {
	for _, r := range f {
		if err := r.record(v, ts); err != nil {
			return err
		}
	}
	return nil
}

func (f fanOut[T]) watermark(wm int64) error {
	for _, r := range f {
		if err := r.watermark(wm); err != nil {
			return err
		}
	}
	return nil
}

func (f fanOut[T]) idle(idle bool) error {
	for _, r := range f {
		if err := r.idle(idle); err != nil {
			return err
		}
	}
	return nil
}

// nobody reads what is read for its side outputs alone.
type nobody[T any] struct{ noSignals }

func (nobody[T]) record(T, int64) error { return nil }

// noSignals ignores what travels between records.
type noSignals struct{}

func (noSignals) watermark(int64) error { return nil }
func (noSignals) idle(bool) error       { return nil }

// relay passes on to the next operator what travels between records.
type relay[Out any] struct {
	out *output[Out]
}

func (r relay[Out]) watermark(wm int64) error { return r.out.watermark(wm) }
func (r relay[Out]) idle(idle bool) error     { return r.out.idle(idle) }
