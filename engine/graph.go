package engine

import (
	"errors"
	"fmt"
	"path/filepath"
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
	// Parallelism is how many subtasks share the work behind each [KeyBy], each on a goroutine of its own; a run may have
	// another number than the one whose cut it adopts. At most MaxParallelism. 0 means 1; negative is an error.
	Parallelism int
	// AllowNonRestored lets a cut of another graph be restored: state whose operator is gone is dropped, and an operator
	// without state starts with none. Otherwise both are refused by name. See [Stream.WithUID].
	AllowNonRestored bool
	// RequireUIDs lets Build report every operator, source and sink that keeps state and has no uid ([Stream.WithUID]): without, states
	// are told apart by their number in the graph, and change places when it changes.
	RequireUIDs bool
	// Clock tells processing time in milliseconds, such as [SystemTime]. It is asked from the pipeline's goroutines, before each
	// record and when something is due; it must not block, nor go back. nil means that there is no processing time: windows, triggers
	// and idleness that need it are reported by Build; for timers and times to live the timestamps of records stand for it.
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
	if c.Parallelism < 0 {
		return fmt.Errorf("parallelism %d: %w", c.Parallelism, ErrInvalid)
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
	if c.Parallelism == 0 {
		c.Parallelism = 1
	}
	if c.Parallelism > c.MaxParallelism {
		return fmt.Errorf("parallelism %d with %d key groups: %w", c.Parallelism, c.MaxParallelism, ErrInvalid)
	}
	return nil
}

// Graph is a job under construction: streams between sources and sinks. Nothing runs, and no function of the user's is
// called, before [Pipeline.Run]. A Graph belongs to one goroutine.
type Graph struct {
	cfg    Config
	errs   []error
	counts map[string]int
	head   *place
	sinks  []sinkNode
	uids   map[any]string    // by node
	paths  map[string]string // of files that sinks write, to the sink
	extra  []userState
}

// New returns an empty graph.
func New(cfg Config) *Graph {
	g := &Graph{counts: make(map[string]int), head: &place{head: true}, uids: make(map[any]string), paths: make(map[string]string)}
	g.fail("config", cfg.validate())
	g.cfg = cfg
	return g
}

// SetParallelism is [Config].Parallelism, for a graph that exists.
func (g *Graph) SetParallelism(n int) {
	g.cfg.Parallelism = n
	g.fail("parallelism", g.cfg.validate())
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
	return newPipeline(g)
}

// sink adds a sink that runs at a place.
func (g *Graph) sink(at *place, connect func(*task)) {
	g.sinks = append(g.sinks, sinkNode{at, connect})
}

// claimPath reports a file that two sinks write.
func (g *Graph) claimPath(op *operator, path string) {
	clean := filepath.Clean(path)
	if other, taken := g.paths[clean]; taken {
		g.fail(op.name, fmt.Errorf("%s is the file of %s; a sink has a file of its own, a union of streams goes to one: %w", path, other, ErrInvalid))
	}
	g.paths[clean] = op.name
}

// identify gives the state of a node a name of its own.
func (g *Graph) identify(node any, uid string) {
	err := checkName(uid)
	for _, other := range g.uids {
		if other == uid {
			err = fmt.Errorf("%q is taken: %w", uid, ErrName)
		}
	}
	if err == nil && strings.ContainsAny(uid, ".") {
		err = fmt.Errorf("%q has a dot in it: %w", uid, ErrName)
	}
	g.fail("uid", err)
	g.uids[node] = uid
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

// title is the name, where there is one: windows of a zero stream have no operator.
func (o *operator) title() string {
	if o == nil {
		return "stream"
	}
	return o.name
}

// operator makes the name of the next operator of a kind: "map-1", "map-2".
func (g *Graph) operator(kind, what string) *operator {
	g.counts[kind]++
	return &operator{name: fmt.Sprintf("%s-%d", kind, g.counts[kind]), what: what}
}

// need keeps an error for Build if a function or source is missing.
func (g *Graph) need(op *operator, what string, present bool) {
	if !present {
		g.fail(op.title(), fmt.Errorf("%s: %w", what, ErrNil))
	}
}

// checkName refuses names that cannot be part of an item's name.
func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, "/@") || name == parallelismItem {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	return nil
}
