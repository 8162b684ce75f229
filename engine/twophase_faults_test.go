package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/engine"
)

// errInjected is every error that the tests put in.
var errInjected = errors.New("injected")

// fault strikes one call of an output.
type fault struct {
	call  string // which; empty for any
	skip  int    // how many of those come first
	after bool   // it has its effect all the same
	crash bool   // the process ends with it
}

// faults stands between the engine and the output of one attempt.
type faults struct {
	mu        sync.Mutex
	armed     *fault
	crashed   bool
	recovered bool
	busy      bool
	wrong     error // a rule of the contract that the engine has broken
}

func (f *faults) arm(next *fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = next
}

// call makes one call, unless it is struck.
func (f *faults) call(name string, apply func() error) error {
	struck, err := f.enter(name)
	if err == nil {
		err = apply()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = false
	if struck {
		err = errInjected
	}
	if name == "recover" && err == nil {
		f.recovered = true
	}
	return err
}

func (f *faults) enter(name string) (struck bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		f.wrong = errors.Join(f.wrong, fmt.Errorf("%s while another call is under way", name))
	}
	if name != "recover" && !f.recovered && !f.crashed {
		f.wrong = errors.Join(f.wrong, fmt.Errorf("%s before recover", name))
	}
	f.busy = true
	if f.crashed {
		return true, errInjected
	}
	a := f.armed
	if a == nil || a.call != "" && a.call != name {
		return false, nil
	}
	if a.skip--; a.skip >= 0 {
		return false, nil
	}
	f.armed, f.crashed = nil, a.crash
	if !a.after {
		return true, errInjected
	}
	return true, nil
}

func (f *faults) look() (crashed, recovered bool, wrong error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed, f.recovered, f.wrong
}

// faulty is an output behind its faults.
type faulty[Txn any] struct {
	engine.TwoPhaseCommit[int64, Txn]
	f *faults
}

func (o faulty[Txn]) Recover(ctx context.Context, known []Txn) error {
	return o.f.call("recover", func() error { return o.TwoPhaseCommit.Recover(ctx, known) })
}

func (o faulty[Txn]) Begin(ctx context.Context) (txn Txn, err error) {
	err = o.f.call("begin", func() (err error) { txn, err = o.TwoPhaseCommit.Begin(ctx); return err })
	return txn, err
}

func (o faulty[Txn]) Write(ctx context.Context, txn Txn, rows []int64) error {
	return o.f.call("write", func() error { return o.TwoPhaseCommit.Write(ctx, txn, rows) })
}

func (o faulty[Txn]) PreCommit(ctx context.Context, txn Txn) error {
	return o.f.call("pre-commit", func() error { return o.TwoPhaseCommit.PreCommit(ctx, txn) })
}

func (o faulty[Txn]) Commit(ctx context.Context, txn Txn) error {
	return o.f.call("commit", func() error { return o.TwoPhaseCommit.Commit(ctx, txn) })
}

func (o faulty[Txn]) Abort(ctx context.Context, txn Txn) error {
	return o.f.call("abort", func() error { return o.TwoPhaseCommit.Abort(ctx, txn) })
}

// ledger is a small transactional store that outlives every attempt.
type ledger struct {
	mu        sync.Mutex
	fence     int64 // the attempt that may write
	txns      map[ledgerTxn]*ledgerRows
	committed []int64
}

// ledgerTxn is a transaction of an attempt.
type ledgerTxn struct{ Attempt, N int64 }

type ledgerRows struct {
	rows                []int64
	prepared, committed bool
}

// account is what one attempt has of a ledger.
type account struct {
	*ledger
	attempt, n int64
}

func (l *ledger) all() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.committed)
}

// may runs f for the attempt that the fence lets in.
func (a *account) may(f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempt < a.fence {
		return engine.ErrFenced
	}
	return f()
}

func (a *account) Recover(_ context.Context, known []ledgerTxn) error {
	return a.may(func() error {
		a.fence = a.attempt
		for txn, r := range a.txns {
			if !r.committed && !slices.Contains(known, txn) {
				delete(a.txns, txn)
			}
		}
		for _, txn := range known {
			if r := a.txns[txn]; r == nil || !r.prepared {
				return fmt.Errorf("%v: %w", txn, engine.ErrLost)
			}
		}
		return nil
	})
}

func (a *account) Begin(context.Context) (txn ledgerTxn, err error) {
	err = a.may(func() error {
		a.n++
		txn = ledgerTxn{a.attempt, a.n}
		a.txns[txn] = &ledgerRows{}
		return nil
	})
	return txn, err
}

func (a *account) Write(_ context.Context, txn ledgerTxn, rows []int64) error {
	return a.may(func() error {
		r := a.txns[txn]
		if r == nil || r.prepared || len(rows) == 0 {
			return fmt.Errorf("write %d rows to %v: %+v", len(rows), txn, r)
		}
		r.rows = append(r.rows, rows...)
		return nil
	})
}

func (a *account) PreCommit(_ context.Context, txn ledgerTxn) error {
	return a.may(func() error {
		r := a.txns[txn]
		if r == nil {
			return fmt.Errorf("%v: %w", txn, engine.ErrLost)
		}
		r.prepared = true
		return nil
	})
}

func (a *account) Commit(_ context.Context, txn ledgerTxn) error {
	return a.may(func() error {
		r := a.txns[txn]
		if r == nil || !r.prepared {
			return fmt.Errorf("%v: %w", txn, engine.ErrLost)
		}
		if !r.committed {
			r.committed = true
			a.committed = append(a.committed, r.rows...)
		}
		return nil
	})
}

func (a *account) Abort(_ context.Context, txn ledgerTxn) error {
	return a.may(func() error {
		if r := a.txns[txn]; r != nil && r.committed {
			return fmt.Errorf("abort of %v, which was committed", txn)
		}
		delete(a.txns, txn)
		return nil
	})
}
