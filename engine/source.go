package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// ErrStopped is what [Collector.Collect] returns when the run has ended; the source returns it, or anything else.
var ErrStopped = errors.New("pipeline stopped")

// Source produces records of type T.
//
// Run reads from c.From() on and collects each record into c, until the end of the input (nil), an error, the end of
// ctx, or an error of Collect. It runs on a goroutine of its own, outside every lock: it may block as long as it likes,
// if only it returns once ctx ends. Records collected before an error are processed before the error ends the run.
type Source[T any] interface {
	Run(ctx context.Context, c *Collector[T]) error
	// Seekable says whether Run honours c.From(). Only then can a cut be adopted.
	Seekable() bool
}

// Record is one record of a source, with everything that a source may say about it.
type Record[T any] struct {
	Value T
	// Timestamp is the event time in milliseconds.
	Timestamp int64
	// Next is the offset that reading resumes from once this record has been processed.
	Next int64
}

// Collector takes the records of one source. Its methods serve one goroutine at a time; a source with several takes
// the emission lock around each call.
type Collector[T any] struct {
	ctx   context.Context //nolint:containedctx // A collector lives as long as the Run that it is handed to.
	ring  *ring[slot[T]]
	from  int64
	next  int64 // default Next
	count int64 // records so far, including those before the cut
	pace  *pacer
	lock  sync.Mutex
}

// From is the offset to read from: 0, or the Next of the last record in the adopted cut.
func (c *Collector[T]) From() int64 { return c.from }

// EmissionLock is the source's own lock, for sources with several goroutines. It may be held across Collect, even while
// the queue is full: nothing but the source ever takes it. It is not the checkpoint lock.
func (c *Collector[T]) EmissionLock() sync.Locker { return &c.lock }

// Collect hands over v. Its timestamp is the number of records before it; reading resumes at c.From() plus the number of
// records collected. It blocks while the queue is full, and returns an error once the run has ended.
func (c *Collector[T]) Collect(v T) error {
	return c.CollectRecord(Record[T]{Value: v, Timestamp: c.count, Next: c.next + 1})
}

// CollectAt is Collect with a timestamp.
func (c *Collector[T]) CollectAt(v T, ts int64) error {
	return c.CollectRecord(Record[T]{Value: v, Timestamp: ts, Next: c.next + 1})
}

// CollectRecord is Collect with timestamp and offset.
func (c *Collector[T]) CollectRecord(r Record[T]) error {
	if c.pace != nil {
		if err := c.pace.wait(c.ctx); err != nil {
			return err
		}
	}
	if err := c.ring.push(c.ctx, slot[T]{val: r.Value, ts: r.Timestamp, next: r.Next}); err != nil {
		return err
	}
	c.count++
	c.next = r.Next
	return nil
}

// CollectSoon is CollectRecord for a source that does not block between two records: they may lie unseen until there are 64 of
// them, the queue is full, or Run returns. It saves what telling the pipeline of each one costs, more than a small operator. A
// source that is about to wait for something calls Show first.
func (c *Collector[T]) CollectSoon(r Record[T]) error {
	if c.pace != nil {
		return c.CollectRecord(r)
	}
	if err := c.ring.pushLazily(c.ctx, slot[T]{val: r.Value, ts: r.Timestamp, next: r.Next}); err != nil {
		return err
	}
	c.count++
	c.next = r.Next
	return nil
}

// Show lets the pipeline see what CollectSoon has taken.
func (c *Collector[T]) Show() { c.ring.show() }

// collectSoon is CollectSoon with the timestamp and offset of Collect.
func (c *Collector[T]) collectSoon(v T) error {
	return c.CollectSoon(Record[T]{Value: v, Timestamp: c.count, Next: c.next + 1})
}

// From reads a source into g. One task reads it; with several subtasks ([Graph.SetParallelism]) the sources of a graph are
// dealt out to them in turn.
func From[T any](g *Graph, src Source[T]) Stream[T] {
	op := g.operator("source", "source execution failed")
	g.need(op, "source", src != nil)
	if v, ok := src.(interface{ Validate() error }); ok {
		g.fail(op.name, v.Validate())
	}
	home := g.counts["source"] - 1
	s := Stream[T]{g: g, n: &node[T]{at: g.head}}
	s.n.make = func(t *task, out *output[T]) []input {
		name := t.exec.name(s.n, "source") // even where it is absent, so that names do not depend on who reads what
		if home%len(t.exec.tasksOf(g.head)) != t.index {
			in := absentInput[T]{out}
			t.addInput(in)
			return []input{in}
		}
		in := &sourceInput[T]{op: op, src: src, out: out, scope: t.scope(name), ring: newRing[slot[T]](t.cfg.Queue, t.bell)}
		in.number = t.exec.pipeline.numberOf(in.name)
		t.addInput(in)
		t.exec.register(in)
		return []input{in}
	}
	return s
}

// Slice is a seekable source of the elements of s, as they are now: changing s afterwards changes nothing. Timestamps
// are 0, 1, 2, ….
func Slice[T any](s []T) Source[T] { return sliceSource[T](slices.Clone(s)) }

type sliceSource[T any] []T

func (s sliceSource[T]) Seekable() bool { return true }

func (s sliceSource[T]) Run(_ context.Context, c *Collector[T]) error {
	if c.From() > int64(len(s)) {
		return fmt.Errorf("offset %d in a slice of %d: %w", c.From(), len(s), ErrInvalid)
	}
	for _, v := range s[c.From():] {
		if err := c.collectSoon(v); err != nil {
			return err
		}
	}
	return nil
}

// Seq is a source of what seq yields. It cannot seek: a run from a cut starts the sequence anew (FRESH). A sequence that
// blocks must watch a context of its own, since nothing can interrupt it.
func Seq[T any](seq iter.Seq[T]) Source[T] {
	if seq == nil {
		return nil
	}
	return Seq2(func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	})
}

// Seq2 is Seq for sequences that may fail: the first error ends the run, after the records before it.
func Seq2[T any](seq iter.Seq2[T, error]) Source[T] {
	if seq == nil {
		return nil
	}
	return seqSource[T](seq)
}

type seqSource[T any] iter.Seq2[T, error]

func (s seqSource[T]) Seekable() bool { return false }

func (s seqSource[T]) Run(_ context.Context, c *Collector[T]) error {
	for v, err := range s {
		if err == nil {
			err = c.Collect(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
