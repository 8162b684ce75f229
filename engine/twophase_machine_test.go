package engine_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
)

// output is a transactional output under test.
type output struct {
	// attach writes a stream to it, on behalf of an attempt.
	attach func(attempt int64, s engine.Stream[int64], f *faults)
	// committed gives the rows that a reader sees.
	committed func() []int64
}

func ledgerOutput() output {
	l := &ledger{txns: make(map[ledgerTxn]*ledgerRows)}
	return output{
		attach: func(attempt int64, s engine.Stream[int64], f *faults) {
			engine.ToTwoPhase(s, faulty[ledgerTxn]{&account{ledger: l, attempt: attempt}, f})
		},
		committed: l.all,
	}
}

// phases is a job with a two-phase sink and its coordinator, over many attempts.
type phases struct {
	rt  *rapid.T
	out output
	in  []int64
	// parallelisms are what an attempt may have; with 1 alone, the order is looked at.
	parallelisms []int
	mode         engine.RestoreMode

	attempts int64
	ids      int64
	newest   map[string][]byte // of the newest completed checkpoint
	newestID int64
	holds    int64 // records that it covers
	since    int   // committed rows before the attempt began from nothing
	run      *phase
	paused   *phase // an attempt that was replaced and is not dead
}

// phase is one attempt.
type phase struct {
	p        *engine.Pipeline
	faults   *faults
	tokens   chan struct{} // the machine sends one for each record that the source may emit; room for all
	cancel   context.CancelCauseFunc
	ended    chan error // one send, by the goroutine of the run
	err      error
	over     bool
	want     int64 // records that are to be processed
	cuts     []*phaseCut
	verdicts []int64 // completed checkpoints, in order
}

type phaseCut struct {
	id, holds int64
	snapshot  *engine.Snapshot
	items     map[string][]byte // once encoded
}

// paced emits the numbers as it is told.
type paced struct {
	in     []int64
	tokens chan struct{}
}

func (paced) Seekable() bool { return true }

func (s paced) Run(ctx context.Context, c *engine.Collector[int64]) error {
	for i := c.From(); i < int64(len(s.in)); i++ {
		select {
		case <-s.tokens:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := c.Collect(s.in[i]); err != nil {
			return err
		}
	}
	return nil
}

// start replaces the attempt by one that restores the newest completed checkpoint.
func (m *phases) start(ctx context.Context) {
	for m.run = nil; m.run == nil; {
		m.try(ctx)
	}
}

func (m *phases) try(ctx context.Context) {
	m.attempts++
	a := &phase{faults: &faults{}, tokens: make(chan struct{}, len(m.in)), ended: make(chan error, 1)}
	if rapid.Bool().Draw(m.rt, "a fault at the start") {
		a.faults.arm(m.fault([]string{"recover", "commit", ""}, 2))
	}
	g := engine.New(engine.Config{Parallelism: rapid.SampledFrom(m.parallelisms).Draw(m.rt, "parallelism"), MaxParallelism: 4})
	m.out.attach(m.attempts, engine.Rebalance(engine.From(g, paced{m.in, a.tokens})), a.faults)
	a.p = build(m.rt, g)
	if m.newest != nil {
		if err := a.p.Restore(ctx, m.newest, m.mode); err != nil {
			m.rt.Fatal(err)
		}
		if err := a.p.Completed(ctx, m.newestID); err != nil {
			m.expected(a, err)
			return
		}
		if m.mode == engine.Adopt {
			a.verdicts = []int64{m.newestID}
		}
	}
	a.want = a.p.Progress().RecordsIn
	ctx, a.cancel = context.WithCancelCause(ctx)
	go func() { a.ended <- a.p.Run(ctx) }()
	for {
		_, recovered, _ := a.faults.look()
		if a.poll() && !recovered {
			m.expected(a, a.err)
			return
		}
		if recovered {
			break
		}
		runtime.Gosched()
	}
	if m.mode == engine.Fresh {
		m.since = len(m.out.committed())
	}
	m.run = a
}

// poll says whether the run has ended.
func (a *phase) poll() bool {
	select {
	case a.err = <-a.ended:
		a.over = true
	default:
	}
	return a.over
}

// stop ends an attempt from outside, as a kill does: from the first call of the output on, nothing has an effect any more.
func (a *phase) stop() {
	if a == nil {
		return
	}
	a.faults.mu.Lock()
	a.faults.crashed = true
	a.faults.mu.Unlock()
	if a.cancel(errBoom); !a.over {
		a.err, a.over = <-a.ended, true
	}
}

// fault draws what goes wrong with one of the next calls.
func (m *phases) fault(calls []string, skip int) *fault {
	return &fault{
		call: rapid.SampledFrom(calls).Draw(m.rt, "call"), skip: rapid.IntRange(0, skip).Draw(m.rt, "skip"),
		after: rapid.Bool().Draw(m.rt, "after"), crash: rapid.Bool().Draw(m.rt, "crash"),
	}
}

// expected fails the test at an error that nobody has put in.
func (m *phases) expected(a *phase, err error) {
	if err != nil && !errors.Is(err, errInjected) && (a == m.run || !errors.Is(err, engine.ErrFenced) && !errors.Is(err, errBoom)) {
		m.rt.Fatal(err)
	}
}

// feed lets records through and waits until they have been processed.
func (m *phases) feed(a *phase, n int64) {
	n = min(n, int64(len(m.in))-a.want)
	a.want += n
	for range n {
		a.tokens <- struct{}{}
	}
	for a.p.Progress().RecordsIn < a.want && !a.poll() {
		runtime.Gosched()
	}
}

func (m *phases) cut(ctx context.Context, a *phase) {
	m.ids++
	s, err := a.p.Cut(ctx, m.ids)
	if errors.Is(err, engine.ErrFailed) {
		return
	}
	if err != nil {
		m.rt.Fatal(err)
	}
	a.cuts = append(a.cuts, &phaseCut{id: m.ids, holds: a.want, snapshot: s})
}

// encode answers a checkpoint: with an ack, or with a decline that ends it.
func (m *phases) encode(ctx context.Context, a *phase) {
	i, ok := m.pick(a, func(c *phaseCut) bool { return c.items == nil })
	if !ok {
		return
	}
	items, err := encodeAll(a.cuts[i].snapshot, nil)
	if err == nil {
		a.cuts[i].items = items
		return
	}
	m.expected(a, err)
	m.fail(ctx, a, i)
}

// fail ends a checkpoint; the attempt may never hear of it.
func (m *phases) fail(ctx context.Context, a *phase, i int) {
	id := a.cuts[i].id
	a.cuts = slices.Delete(a.cuts, i, i+1)
	if rapid.Bool().Draw(m.rt, "heard") {
		if err := a.p.Failed(ctx, id); err != nil {
			m.rt.Fatal(err)
		}
	}
}

// complete gives the verdict on a checkpoint, which ends all before it.
func (m *phases) complete(a *phase) {
	i, ok := m.pick(a, func(c *phaseCut) bool { return c.items != nil })
	if !ok {
		return
	}
	c := a.cuts[i]
	m.newest, m.newestID, m.holds = c.items, c.id, c.holds
	a.verdicts = append(a.verdicts, c.id)
	a.cuts = slices.Delete(a.cuts, 0, i+1)
}

// notify tells an attempt of a verdict, of whichever.
func (m *phases) notify(ctx context.Context, a *phase, id int64) {
	m.expected(a, a.p.Completed(ctx, id))
}

// pick draws one of the cuts that f likes.
func (m *phases) pick(a *phase, f func(*phaseCut) bool) (int, bool) {
	var list []int
	for i, c := range a.cuts {
		if f(c) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(list).Draw(m.rt, "cut"), true
}

// check looks at what readers see: nothing twice, nothing that a restart would take back, and in order if there is one.
func (m *phases) check(t *rapid.T) {
	for _, a := range []*phase{m.run, m.paused} {
		if a == nil {
			continue
		}
		if _, _, wrong := a.faults.look(); wrong != nil {
			t.Fatal(wrong)
		}
	}
	got := m.out.committed()[m.since:]
	if m.mode == engine.Adopt && int64(len(got)) > m.holds {
		t.Fatalf("%d rows are committed, and the newest completed checkpoint has %d", len(got), m.holds)
	}
	if !m.ordered() {
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) < len(got) {
			t.Fatal("a row is committed twice")
		}
		return
	}
	if want := m.in[:min(len(got), len(m.in))]; !slices.Equal(want, got) {
		t.Fatal(cmp.Diff(want, got))
	}
}

func (m *phases) ordered() bool { return slices.Equal(m.parallelisms, []int{1}) }

// checkPhases runs a random history to its end, and compares what was committed with the input.
func checkPhases(t *testing.T, outputOf func(t *testing.T) output, mode engine.RestoreMode, parallelisms ...int) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &phases{rt: rt, out: outputOf(t), parallelisms: parallelisms, mode: mode}
		for i := range rapid.SampledFrom([]int64{0, 7, 4000}).Draw(rt, "records") {
			m.in = append(m.in, i)
		}
		defer func() {
			m.run.stop()
			m.paused.stop()
		}()
		m.start(t.Context())
		rt.Repeat(m.actions(t.Context()))
		m.finish(t.Context())
		got := m.out.committed()[m.since:]
		if !m.ordered() {
			slices.Sort(got)
		}
		if !slices.Equal(m.in, got) {
			rt.Fatalf("%d rows of %d are committed, or not these: %d", len(got), len(m.in), got[:min(len(got), 100)])
		}
	})
}
