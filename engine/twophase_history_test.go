package engine_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
)

// actions are what may happen to a job at any moment.
func (m *phases) actions(ctx context.Context) map[string]func(*rapid.T) {
	calls := []string{"begin", "write", "pre-commit", "commit", "abort", ""}
	alive := func(f func(a *phase)) func(*rapid.T) {
		return func(*rapid.T) {
			f(m.run)
			if crashed, _, _ := m.run.faults.look(); crashed || m.run.poll() && m.run.err != nil {
				m.expected(m.run, m.run.err)
				m.run.stop()
				m.start(ctx)
			}
		}
	}
	return map[string]func(*rapid.T){
		"": m.check,
		"feed": alive(func(a *phase) {
			m.feed(a, rapid.SampledFrom([]int64{1, 2, 50, 1500}).Draw(m.rt, "n"))
		}),
		"cut":      alive(func(a *phase) { m.cut(ctx, a) }),
		"encode":   alive(func(a *phase) { m.encode(ctx, a) }),
		"encode 2": alive(func(a *phase) { m.encode(ctx, a) }),
		"complete": alive(m.complete),
		"notify": alive(func(a *phase) {
			if len(a.verdicts) > 0 {
				m.notify(ctx, a, rapid.SampledFrom(a.verdicts).Draw(m.rt, "verdict"))
			}
		}),
		"fail": alive(func(a *phase) {
			if i, ok := m.pick(a, func(*phaseCut) bool { return true }); ok {
				m.fail(ctx, a, i)
			}
		}),
		"arm": func(*rapid.T) { m.run.faults.arm(m.fault(calls, 4)) },
		"kill": func(*rapid.T) {
			m.run.stop()
			m.start(ctx)
		},
		"pause": func(*rapid.T) {
			m.paused.stop()
			m.paused = m.run
			m.start(ctx)
		},
		"wake": func(*rapid.T) { m.wake(ctx) },
	}
}

// wake lets a paused attempt go on, although it has been replaced: it does what it would have done, and believes that
// each of its checkpoints was completed.
func (m *phases) wake(ctx context.Context) {
	a := m.paused
	if a == nil {
		return
	}
	m.feed(a, rapid.SampledFrom([]int64{0, 3, 1500}).Draw(m.rt, "n"))
	m.cut(ctx, a)
	m.encode(ctx, a)
	for _, c := range a.cuts {
		m.notify(ctx, a, c.id)
	}
	for _, id := range a.verdicts {
		m.notify(ctx, a, id)
	}
}

// finish lets the job come to its end, without faults.
func (m *phases) finish(ctx context.Context) {
	for {
		a := m.run
		a.faults.arm(nil)
		m.feed(a, int64(len(m.in)))
		if !a.poll() {
			a.err, a.over = <-a.ended, true
		}
		if a.err == nil {
			break
		}
		m.expected(a, a.err)
		a.stop()
		m.start(ctx)
	}
	if rapid.Bool().Draw(m.rt, "without a last checkpoint") {
		if err := m.run.p.Finish(ctx); err != nil {
			m.rt.Fatal(err)
		}
		return
	}
	m.cut(ctx, m.run)
	last := m.run.cuts[len(m.run.cuts)-1]
	m.run.cuts = []*phaseCut{last}
	m.encode(ctx, m.run)
	m.complete(m.run)
	m.notify(ctx, m.run, last.id)
}

// Whatever fails, dies, is paused, late or never heard of: every row is committed once, in order.
func TestTwoPhaseIsExactlyOnce(t *testing.T) {
	checkPhases(t, func(*testing.T) output { return ledgerOutput() }, engine.Adopt, 1)
}

// With several subtasks, whose number changes from attempt to attempt, every row is committed once.
func TestTwoPhaseIsExactlyOnceAtAnyParallelism(t *testing.T) {
	checkPhases(t, func(*testing.T) output { return ledgerOutput() }, engine.Adopt, 1, 2, 3)
}

// A run that starts from nothing writes everything once more: exactly once since.
func TestTwoPhaseFreshStartsOver(t *testing.T) {
	checkPhases(t, func(*testing.T) output { return ledgerOutput() }, engine.Fresh, 1)
}
