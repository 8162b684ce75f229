package engine

import (
	"errors"
	"fmt"
	"strings"
)

// Config of a graph. The zero value is ready to use.
type Config struct {
	// MaxParallelism is the number of key groups that keyed state is cut into; it must be the same when the state is
	// restored. 0 means 128; negative is an error.
	MaxParallelism int
	// Queue is how many records of a source may wait for the pipeline; it is rounded up to a power of two.
	// 0 means 1024; negative is an error.
	Queue int
	// Clock tells processing time in milliseconds, such as [SystemTime]. It is asked from the pipeline's goroutine, before each
	// record and when something is due; it must not block, nor go back. nil means that there is no processing time: what
	// needs it is reported by Build.
	Clock func() int64
}

// Limits of Config.
const (
	defaultParallelism = 128
	defaultQueue       = 1024
	maxParallelism     = 1 << 15
	maxQueue           = 1 << 20
)

func (c *Config) validate() error {
	if c.MaxParallelism < 0 || c.MaxParallelism > maxParallelism {
		return fmt.Errorf("max parallelism %d: %w", c.MaxParallelism, ErrInvalid)
	}
	if c.Queue < 0 || c.Queue > maxQueue {
		return fmt.Errorf("queue of %d: %w", c.Queue, ErrInvalid)
	}
	if c.MaxParallelism == 0 {
		c.MaxParallelism = defaultParallelism
	}
	if c.Queue == 0 {
		c.Queue = defaultQueue
	}
	return nil
}

// Graph is a job under construction: streams between sources and sinks. Nothing runs, and no function of the user's is
// called, before [Pipeline.Run]. A Graph belongs to one goroutine.
type Graph struct {
	cfg    Config
	errs   []error
	counts map[string]int
	sinks  []func(*task) // connects one sink, and with it all that it needs
	extra  []userState
}

// New returns an empty graph.
func New(cfg Config) *Graph {
	g := &Graph{counts: make(map[string]int)}
	g.fail("config", cfg.validate())
	g.cfg = cfg
	return g
}

// Build checks the graph and makes a pipeline of it, for one run. It returns every mistake that was found while the
// graph was put together, joined. Only what leads to a sink is part of the pipeline.
func (g *Graph) Build() (*Pipeline, error) {
	if len(g.sinks) == 0 && len(g.errs) == 0 {
		g.fail("graph", fmt.Errorf("no sink: %w", ErrInvalid))
	}
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	t := newTask(g.cfg)
	for _, connect := range g.sinks {
		connect(t)
	}
	for _, u := range g.extra {
		t.register(&u)
	}
	for _, check := range t.checks {
		if err := check(); err != nil {
			t.errs = append(t.errs, err)
		}
	}
	if len(t.errs) > 0 {
		return nil, errors.Join(t.errs...)
	}
	return &Pipeline{task: t}, nil
}

// fail keeps an error for Build.
func (g *Graph) fail(operator string, err error) {
	if err != nil {
		g.errs = append(g.errs, fmt.Errorf("%s: %w", operator, err))
	}
}

// operator names one place of the graph, for errors.
type operator struct {
	name string
	what string
}

// operator makes the name of the next operator of a kind: "map-1", "map-2".
func (g *Graph) operator(kind, what string) *operator {
	g.counts[kind]++
	return &operator{name: fmt.Sprintf("%s-%d", kind, g.counts[kind]), what: what}
}

// need keeps an error for Build if a function or source is missing.
func (g *Graph) need(op *operator, what string, present bool) {
	if !present {
		g.fail(op.name, fmt.Errorf("%s: %w", what, ErrNil))
	}
}

// checkName refuses names that cannot be part of an item's name.
func checkName(name string) error {
	if name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	return nil
}

// Stream is a flow of records of type T in a graph. It is a value and may be used any number of times: two sinks on one
// stream share one execution of all that lies before it.
type Stream[T any] struct {
	g *Graph
	n *node[T]
}

// node is one operator of the graph, seen from behind.
type node[T any] struct {
	// make builds the operator for a task and connects it to what lies before it.
	make func(t *task, out *output[T])
}

// newStream adds an operator to g.
func newStream[T any](g *Graph, build func(t *task, out *output[T])) Stream[T] {
	return Stream[T]{g: g, n: &node[T]{make: build}}
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

// connect sends the records of s to r, within t.
func (s Stream[T]) connect(t *task, r receiver[T]) {
	out, ok := t.outputs[s.n].(*output[T])
	if ok {
		out.add(r)
		return
	}
	out = &output[T]{}
	out.add(r)
	t.outputs[s.n] = out
	s.n.make(t, out)
}

// receiver is an operator, seen from the front. All calls come from the goroutine that holds the checkpoint lock.
type receiver[T any] interface {
	// record takes one record with its timestamp.
	record(v T, ts int64) error
	// watermark says that no record at or before wm is to be expected any more.
	watermark(wm int64) error
}

// output is where an operator sends its records: straight to the one receiver, or to each of several.
type output[T any] struct {
	receiver[T]
	all fanOut[T]
}

func (o *output[T]) add(r receiver[T]) {
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
