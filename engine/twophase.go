package engine

import (
	"context"

	"github.com/tidemark-stream/tidemark/engine/state"
)

// TwoPhaseCommit is an output that takes records in transactions, such as a database, so that each is in it exactly once. A
// transaction has all records between two cuts; it is made durable before the checkpoint of the second is acknowledged, and
// made visible when that checkpoint has been completed.
//
//	Recover ──► Begin ──► Write, Write, … ──► PreCommit ───────► Commit
//	at the      before     records, in         the cut behind     the checkpoint has been completed,
//	start       the first  batches             it is encoded      or a later one
//
// Txn says which transaction it is, to this process and to the one after it: a name, or the ids that the output gave it. It
// is part of the cut, so it is of a type that [state.CodecOf] accepts.
//
// The engine calls one method at a time, from whichever goroutine, and never under the checkpoint lock: all of them may wait
// for the output. While one does, records pile up in memory to the bound of a batch, and then the pipeline waits too.
type TwoPhaseCommit[T, Txn any] interface {
	// Recover is the first call of a run. known are the transactions that the adopted cut holds and that may not have been
	// committed; every other one that an earlier attempt has left open is to be aborted, and no earlier attempt may
	// be able to begin, write, pre-commit or commit any more: it may be a paused process that wakes up. known is empty where
	// nothing was adopted. An error ends the run before its first record; a part that was done is done again by the next.
	Recover(ctx context.Context, known []Txn) error
	// Begin starts a transaction that no other attempt can have. It comes with the first record of one, so that there
	// are no empty ones.
	Begin(ctx context.Context) (Txn, error)
	// Write adds records to a transaction, in order. rows is valid during the call only. After an error it is not known what
	// was written: every transaction that was not pre-committed is given up, and the run ends; the next attempt writes
	// the same records again.
	Write(ctx context.Context, txn Txn, rows []T) error
	// PreCommit makes all that was written durable, so that Commit cannot fail for any lasting reason. An error declines the
	// checkpoint; the transaction is kept and pre-committed with the next cut.
	PreCommit(ctx context.Context, txn Txn) error
	// Commit makes a pre-committed transaction visible. It is called in the order of Begin, and repeated after an error; also
	// for a transaction that has been committed, by this or an earlier attempt, which is no error. An error that will not go
	// away has [ErrLost] or [ErrFenced] in its chain.
	Commit(ctx context.Context, txn Txn) error
	// Abort takes back a transaction of which PreCommit has not succeeded, after an error of Write. It is a courtesy: what it
	// does not manage, Recover of the next attempt does.
	Abort(ctx context.Context, txn Txn) error
}

// ToTwoPhase writes every record to out, each exactly once, whatever is killed or paused meanwhile, provided that a cut is
// adopted only if its checkpoint has been completed. All subtasks write into one transaction; the order of each is kept. A
// record must not be changed once it has been emitted: it waits in memory for its batch.
//
// Transactions that were not committed yet are part of the cut as "commit-N". The last one is closed by a cut after the end of
// the input, and committed when that is completed ([Pipeline.Completed], or [Pipeline.Finish]). A run that starts from nothing
// ([Fresh]) writes everything again: what an earlier one has committed stays, and is there twice unless the user clears it.
func ToTwoPhase[T, Txn any](s Stream[T], out TwoPhaseCommit[T, Txn]) Sink {
	g := s.graph()
	op := g.operator("commit", "sink invocation failed")
	g.need(op, "sink", out != nil)
	codec, err := state.CodecOf[Txn]()
	g.fail(op.name, err)
	key := new(sinkKey)
	g.sink(s.origin().at, func(t *task) {
		sink := writingSinkOf(t, key, func() *twoPhaseSink[T, Txn] {
			return &twoPhaseSink[T, Txn]{name: t.exec.name(key, "commit"), out: out, codec: codec, io: newLock()}
		})
		sink.bells = append(sink.bells, t.bell)
		s.connect(t, &twoPhaseOp[T, Txn]{task: t, sink: sink})
	})
	return Sink{g, key}
}

// twoPhaseOp takes records under the checkpoint lock; all that waits happens in the sink, outside of it.
type twoPhaseOp[T, Txn any] struct {
	task *task
	sink *twoPhaseSink[T, Txn]
	noSignals
}

func (o *twoPhaseOp[T, Txn]) record(v T, _ int64) error {
	o.sink.append(v)
	o.task.out++
	return nil
}
