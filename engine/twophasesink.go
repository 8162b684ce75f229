package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// batchRows is how many records a two-phase sink gathers before it hands them over.
const batchRows = 1024

// twoPhaseSink calls the output, and is its part of the cut.
type twoPhaseSink[T, Txn any] struct {
	name  string
	out   TwoPhaseCommit[T, Txn]
	codec state.Codec[Txn]
	bells []*bell // of the subtasks
	transactions[T, Txn]

	broken    atomic.Bool // err is set
	recovered atomic.Bool // since the last restore

	// io is held while the output is called, and never asked for under the checkpoint lock. It guards what follows.
	io   *lock
	run  context.Context //nolint:containedctx // That of the one run, for what is called without.
	err  error           // the first error of Write: what was not prepared by then never will be
	told bool            // the run has got an error of the sink
}

func (o *twoPhaseSink[T, Txn]) partName() string { return o.name }

// cut closes the open transaction. Encoding it first prepares what the cut holds.
func (o *twoPhaseSink[T, Txn]) cut(id int64) ([]Item, error) { //nolint:unparam // Other parts fail.
	list := o.seal(id)
	return []Item{{
		Name:    o.name,
		prepare: func(ctx context.Context) error { return o.prepare(ctx, list) },
		encode:  func() ([]byte, error) { return appendTransactions(nil, o.codec, list) },
	}}, nil
}

func (o *twoPhaseSink[T, Txn]) load(items *items, mode RestoreMode) (func(), error) {
	b, err := items.take(o.name)
	if err != nil {
		return nil, err
	}
	list, err := decodeTransactions[T](b, o.codec)
	if err != nil {
		return nil, err
	}
	for _, tx := range list {
		items.noteOne(Entry{Item: o.name, Content: fmt.Sprintf("transaction %v of cut %d", tx.handle, tx.cut)})
	}
	if mode != Adopt {
		list = nil
	}
	return func() {
		o.adopt(list)
		o.recovered.Store(false)
	}, nil
}

func (o *twoPhaseSink[T, Txn]) open(ctx context.Context) error {
	if err := o.io.acquire(ctx); err != nil {
		return err
	}
	defer o.io.release()
	o.run = ctx
	return o.takeOver(ctx)
}

// takeOver comes before every other call of the output: at the start of the run, or of a commit before that.
func (o *twoPhaseSink[T, Txn]) takeOver(ctx context.Context) error {
	if o.recovered.Load() {
		return nil
	}
	var known []Txn
	for _, tx := range o.all() {
		known = append(known, tx.handle)
	}
	err := o.call("recover", func() error { return o.out.Recover(ctx, known) })
	o.recovered.Store(err == nil)
	return err
}

func (o *twoPhaseSink[T, Txn]) full() bool {
	return o.waiting.Load() >= batchRows || o.broken.Load()
}

// flush hands over what waits, in the context of the run.
func (o *twoPhaseSink[T, Txn]) flush(context.Context) error {
	if err := o.io.acquire(o.run); err != nil {
		return err
	}
	defer o.io.release()
	for _, tx := range o.all() {
		if err := o.write(o.run, tx); err != nil {
			o.told = true
			return err
		}
	}
	return nil
}

// close hands over what is left, so that its errors are those of the run. A run that was cancelled does not wait for the
// output: a cut may still do so.
func (o *twoPhaseSink[T, Txn]) close() error {
	if alive := o.run != nil && o.run.Err() == nil; alive && !o.told {
		return o.flush(o.run)
	}
	return nil
}

// write hands over what waits in memory.
func (o *twoPhaseSink[T, Txn]) write(ctx context.Context, tx *transaction[T, Txn]) error {
	if tx.prepared {
		return nil
	}
	if o.err != nil {
		return o.err
	}
	if !tx.begun {
		if err := o.call("begin a transaction", func() (err error) { tx.handle, err = o.out.Begin(ctx); return err }); err != nil {
			return err
		}
		tx.begun = true
	}
	rows := o.take(tx)
	if len(rows) == 0 {
		return nil
	}
	if err := o.call("write", func() error { return o.out.Write(ctx, tx.handle, rows) }); err != nil {
		return o.giveUp(ctx, err)
	}
	o.giveBack(rows)
	return nil
}

// giveUp ends the run with an error of Write; a subtask that waits for records is woken to learn of it.
func (o *twoPhaseSink[T, Txn]) giveUp(ctx context.Context, err error) error {
	o.err = err
	o.broken.Store(true)
	for _, tx := range o.all() {
		if tx.begun && !tx.prepared {
			o.err = errors.Join(o.err, o.call("abort", func() error { return o.out.Abort(ctx, tx.handle) }))
		}
	}
	for _, b := range o.bells {
		b.ring()
	}
	return o.err
}

// prepare pre-commits what a cut holds. Writing goes on in the context of the run as long as there is one: whoever gives up the
// checkpoint must not end the run with it.
func (o *twoPhaseSink[T, Txn]) prepare(ctx context.Context, list []*transaction[T, Txn]) error {
	if err := o.io.acquire(ctx); err != nil {
		return err
	}
	defer o.io.release()
	for _, tx := range list {
		if tx.prepared {
			continue
		}
		writing := o.run
		if o.run.Err() != nil {
			writing = ctx
		}
		if err := o.write(writing, tx); err != nil {
			return err
		}
		if err := o.call("pre-commit", func() error { return o.out.PreCommit(ctx, tx.handle) }); err != nil {
			return err
		}
		tx.prepared = true
	}
	return nil
}

// completed commits what is prepared of the cut: all of it, unless its checkpoint was completed without this part.
func (o *twoPhaseSink[T, Txn]) completed(ctx context.Context, id int64) error {
	if err := o.io.acquire(ctx); err != nil {
		return err
	}
	defer o.io.release()
	for _, tx := range o.covered(id) {
		if !tx.prepared {
			break
		}
		if err := o.takeOver(ctx); err != nil {
			return err
		}
		if err := o.call("commit", func() error { return o.out.Commit(ctx, tx.handle) }); err != nil {
			return err
		}
		o.committed()
	}
	o.settled(id, true)
	return nil
}

func (o *twoPhaseSink[T, Txn]) aborted(_ context.Context, id int64) error { //nolint:unparam // Other sinks may fail.
	o.settled(id, false)
	return nil
}

// call calls the output.
func (o *twoPhaseSink[T, Txn]) call(what string, f func() error) error {
	return callOutput(o.name, what, f)
}
