package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/state"
)

// oneByOne runs numbers into an output; feed lets n of them through and waits for them.
func oneByOne[Txn any](t *testing.T, out engine.TwoPhaseCommit[int64, Txn]) (p *engine.Pipeline, feed func(n int64), ended chan error) {
	t.Helper()
	const all = 5000
	in := make([]int64, all)
	for i := range in {
		in[i] = int64(i)
	}
	tokens := make(chan struct{}, all)
	g := engine.New(engine.Config{})
	engine.ToTwoPhase(engine.From(g, paced{in, tokens}), out)
	p = build(t, g)
	a := &phase{p: p, tokens: tokens, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { a.ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		if cancel(errBoom); !a.over {
			a.err = <-a.ended
		}
	})
	return p, func(n int64) { (&phases{in: in}).feed(a, n) }, a.ended
}

func newAccount() *account {
	return &account{ledger: &ledger{txns: make(map[ledgerTxn]*ledgerRows)}, attempt: 1}
}

func TestACommitIsOfWhatTheCutHolds(t *testing.T) {
	out := newAccount()
	p, feed, _ := oneByOne(t, out)
	committed := func(id int64, want int) {
		t.Helper()
		if err := p.Completed(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got := len(out.all()); got != want {
			t.Fatalf("%d rows are committed after checkpoint %d, not %d", got, id, want)
		}
	}
	feed(3)
	encode(t, mustCut(t, p, 1))
	feed(2)
	second := mustCut(t, p, 2)
	feed(4)
	committed(9, 0) // of another attempt
	committed(1, 3)
	committed(1, 3)
	committed(2, 3) // completed without an answer of this part: what is not pre-committed is not committed
	encode(t, second)
	third := encode(t, mustCut(t, p, 3))
	if err := p.Failed(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	committed(3, 3)
	empty := encode(t, mustCut(t, p, 4)) // a cut without new records has what the failed one had
	if third["commit-1"] == nil || string(third["commit-1"]) != string(empty["commit-1"]) {
		t.Errorf("%x, then %x", third["commit-1"], empty["commit-1"])
	}
	committed(4, 9)
	if left := encode(t, mustCut(t, p, 5))["commit-1"]; strings.Count(string(left), "") > strings.Count(string(empty["commit-1"]), "")-6 {
		t.Errorf("what was committed is still in the cut: %x", left)
	}
	if n := len(out.txns); n != 3 {
		t.Error(n, "transactions were begun for three cuts with records")
	}
}

// Records are handed over in batches while the run goes on, not only at a cut.
func TestAFullBatchIsWritten(t *testing.T) {
	out := newAccount()
	p, feed, _ := oneByOne(t, out)
	feed(2500)
	mustCut(t, p, 1)
	out.mu.Lock()
	defer out.mu.Unlock()
	if r := out.txns[ledgerTxn{1, 1}]; r == nil || len(r.rows) < 2048 {
		t.Errorf("%+v", r)
	}
}

// stubborn is an output whose pre-commit waits for its context.
type stubborn struct {
	*account
	once bool
}

func (o *stubborn) PreCommit(ctx context.Context, txn ledgerTxn) error {
	if !o.once {
		o.once = true
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return o.account.PreCommit(ctx, txn)
}

// Whoever gives a checkpoint up does not wait for its pre-commit, and ends nothing else with it.
func TestAPreCommitEndsWithItsContext(t *testing.T) {
	out := &stubborn{account: newAccount()}
	p, feed, _ := oneByOne(t, out)
	feed(3)
	s := mustCut(t, p, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	for _, i := range s.Items {
		if _, err := i.EncodeContext(ctx); (i.Name == "commit-1") != errors.Is(err, errBoom) {
			t.Error(i.Name, err)
		}
	}
	feed(2000)
	encode(t, mustCut(t, p, 2))
	if err := p.Completed(t.Context(), 2); err != nil || len(out.all()) != 2003 {
		t.Error(err, len(out.all()))
	}
}

// broken is an output that fails its writes.
type broken struct {
	*account
	write func() error
	abort *[]ledgerTxn
}

func (o *broken) Write(context.Context, ledgerTxn, []int64) error { return o.write() }

func (o *broken) Abort(_ context.Context, txn ledgerTxn) error {
	*o.abort = append(*o.abort, txn)
	return nil
}

// A write that fails, in whatever call of the engine, ends the run, and the transaction is aborted.
func TestAFailedWriteEndsTheRun(t *testing.T) {
	for name, write := range map[string]func() error{"an error": func() error { return errBoom }, "a panic": func() error { panic(errBoom) }} {
		t.Run(name, func(t *testing.T) {
			var aborted []ledgerTxn
			p, feed, ended := oneByOne(t, &broken{newAccount(), write, &aborted})
			feed(1)
			for _, i := range mustCut(t, p, 1).Items {
				if _, err := i.Encode(); (i.Name == "commit-1") != errors.Is(err, errBoom) {
					t.Error(i.Name, err)
				}
			}
			err := <-ended
			ended <- err
			var op *engine.OperatorError
			if !errors.As(err, &op) || !errors.Is(err, errBoom) || op.Operator != "commit-1" || op.What != "write" {
				t.Error(err)
			}
			if !slices.Equal(aborted, []ledgerTxn{{1, 1}}) {
				t.Error("aborted:", aborted)
			}
		})
	}
}

func TestTwoPhaseSinkIsCheckedAndNamed(t *testing.T) {
	g := engine.New(engine.Config{})
	engine.ToTwoPhase[int64, string](engine.From(g, counting(1)), nil)
	engine.ToTwoPhase[int64, any](engine.From(g, counting(1)), nil)
	if _, err := g.Build(); !errors.Is(err, engine.ErrNil) || !errors.Is(err, state.ErrType) {
		t.Error(err)
	}
	named := func(uid string) *engine.Pipeline {
		g := engine.New(engine.Config{})
		engine.ToTwoPhase(engine.From(g, counting(1)), newAccount()).WithUID(uid)
		return build(t, g)
	}
	items := encode(t, mustCut(t, named("orders"), 1))
	if items["orders"] == nil {
		t.Error(items)
	}
	if err := named("orders").Restore(t.Context(), items, engine.Adopt); err != nil {
		t.Error(err)
	}
	g = engine.New(engine.Config{})
	engine.ToTwoPhase(engine.From(g, counting(1)), &engine.TxnFiles[int64]{}).WithUID("orders")
	if err := build(t, g).Restore(t.Context(), items, engine.Adopt); !errors.Is(err, state.ErrSchema) {
		t.Error(err)
	}
}
