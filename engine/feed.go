package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// Feed is a sink that a loop reads: [ToFeed] makes one, [Feed.Run] or [Feed.All] range over it. Between the pipeline and a slow
// loop wait up to twice [Config].Queue records, and what one more record, or the end of the input, gives; then the pipeline
// waits, without the checkpoint lock, so cuts go on. It is at least once: what the loop has not finished with is part of the
// cut, as "feed-N", and comes again after it has been adopted. What a record refers to is shared with the cut: the loop must
// not change it.
type Feed[T any] struct {
	graph *Graph
	name  string
	queue int
	vals  state.Codec[T]
	uncut bool // nobody can cut the pipeline, so T needs no codec

	// reader: who ranges over the feed takes the value out and puts it back. Capacity 1: there is one.
	reader chan struct{}
	// filled wakes the reader, room who waits for space; both are levels: sent by the other side, never closed, capacity 1.
	filled, room chan struct{}

	size atomic.Int64 // len(waiting)
	at   atomic.Int64 // what the loop has finished with of batch

	mu      sync.Mutex
	waiting []T
	batch   []T // with the loop
	ended   bool
}

// ToFeed adds a sink to the graph whose records are read by a loop; the feed belongs to one pipeline. T must be of a type that
// [state.CodecOf] accepts.
func ToFeed[T any](s Stream[T]) *Feed[T] {
	g := s.graph()
	op := g.operator("feed", "feed failed")
	f := newFeed[T](g.cfg.Queue)
	var err error
	f.graph = g
	f.vals, err = state.CodecOf[T]()
	g.fail(op.name, err)
	g.sink(s.origin().at, f.connect(s))
	return f
}

// WithUID names the state of the feed, instead of its number in the graph; see [Stream.WithUID].
func (f *Feed[T]) WithUID(uid string) *Feed[T] {
	f.graph.identify(f, uid)
	return f
}

func newFeed[T any](queue int) *Feed[T] {
	return &Feed[T]{
		queue: queue, reader: make(chan struct{}, 1), filled: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

func (f *Feed[T]) connect(s Stream[T]) func(*task) {
	return func(t *task) {
		writingSinkOf(t, f, func() *Feed[T] {
			f.name = t.exec.name(f, "feed")
			return f
		})
		s.connect(t, feedOp[T]{task: t, feed: f})
	}
}

type feedOp[T any] struct {
	task *task
	feed *Feed[T]
	noSignals
}

func (o feedOp[T]) record(v T, _ int64) error {
	f := o.feed
	f.mu.Lock()
	f.waiting = append(f.waiting, v)
	f.size.Store(int64(len(f.waiting)))
	f.mu.Unlock()
	signal(f.filled)
	o.task.out++
	return nil
}

// signal raises a level.
func signal(level chan<- struct{}) {
	select {
	case level <- struct{}{}:
	default:
	}
}

// Run runs p, which has the feed as a sink, while its records are ranged over. An error of the run comes last, after the
// records before it. Leaving the loop ends the run; it and all its goroutines have ended when the loop has.
func (f *Feed[T]) Run(ctx context.Context, p *Pipeline) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		ended := make(chan error, 1) // Sent by the run once; capacity 1, since the loop may have been left by a panic.
		var run sync.WaitGroup
		run.Go(func() {
			err := p.Run(ctx)
			_ = f.close() // A run that was refused has not opened it.
			ended <- err
		})
		defer run.Wait()
		defer cancel(ErrStopped)
		for v := range f.All(context.WithoutCancel(ctx)) {
			if !yield(v, nil) {
				return
			}
		}
		if err := <-ended; err != nil {
			var none T
			yield(none, err)
		}
	}
}

// All gives the records of a run that goes on elsewhere, until it has ended and all are read, or ctx ends. It may be left and
// ranged over again; one loop at a time reads, another one waits for it.
func (f *Feed[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		select {
		case f.reader <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-f.reader }()
		for f.next(ctx) {
			for i := f.at.Load(); i < int64(len(f.batch)); i++ {
				more := yield(f.batch[i])
				f.at.Store(i + 1)
				if !more || ctx.Err() != nil {
					return
				}
			}
		}
	}
}

// next waits for records; there are none any more if it returns false.
func (f *Feed[T]) next(ctx context.Context) bool {
	for {
		f.mu.Lock()
		if f.at.Load() == int64(len(f.batch)) && len(f.waiting) > 0 {
			f.batch, f.waiting = f.waiting, nil
			f.at.Store(0)
			f.size.Store(0)
			signal(f.room)
		}
		some, ended := f.at.Load() < int64(len(f.batch)), f.ended
		f.mu.Unlock()
		if some || ended {
			return some
		}
		select {
		case <-f.filled:
		case <-ctx.Done():
			return false
		}
	}
}

func (f *Feed[T]) partName() string { return f.name }

func (f *Feed[T]) open(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = false
	return nil
}

func (f *Feed[T]) full() bool { return f.size.Load() >= int64(f.queue) }

// flush waits until the loop has taken what waits.
func (f *Feed[T]) flush(ctx context.Context) error {
	for f.full() {
		select {
		case <-f.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	signal(f.room) // Another subtask may wait as well.
	return nil
}

func (f *Feed[T]) close() error {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	signal(f.filled)
	return nil
}

func (f *Feed[T]) completed(context.Context, int64) error { return nil }
func (f *Feed[T]) aborted(context.Context, int64) error   { return nil }

// cut holds what the loop has not finished with, under 'Q' 1 | records | each. Of records that are flat that is a copy; others
// are encoded at once. Either is bounded by the queue.
func (f *Feed[T]) cut(int64) ([]Item, error) {
	if f.uncut {
		return nil, nil
	}
	f.mu.Lock()
	left := slices.Concat(f.batch[f.at.Load():], f.waiting)
	f.mu.Unlock()
	encode := func() ([]byte, error) { return f.append(left) }
	if !f.vals.Flat() {
		b, err := encode()
		if err != nil {
			return nil, err
		}
		return []Item{bytesItem(f.name, b)}, nil
	}
	return []Item{{Name: f.name, encode: encode}}, nil
}

func (f *Feed[T]) append(left []T) (b []byte, err error) {
	b = binary.AppendUvarint(append(b, 'Q', itemVersion), uint64(len(left)))
	for i := range left {
		if b, err = f.vals.Append(b, &left[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (f *Feed[T]) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(f.name)
	if err != nil {
		return nil, err
	}
	d := newDecoder(b, 'Q')
	var left []T
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		var v T
		d.b, d.err = f.vals.Decode(d.b, &v)
		left = append(left, v)
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	items.noteOne(Entry{Item: f.name, Content: fmt.Sprintf("%d records not read", len(left))})
	if mode != Adopt {
		left = nil
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.batch, f.waiting = nil, left
		f.at.Store(0)
		f.size.Store(int64(len(left)))
	}, nil
}
