package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// steps is a source that waits for the test before each record: the test sends what to do next, and what was sent before has
// been processed once step returns.
type steps[T any] struct {
	records chan T // from step; closed by end
	p       *engine.Pipeline
	sent    int64
	run     chan error // from Run, once
}

func newSteps[T any](g *engine.Graph) (*steps[T], engine.Stream[T]) {
	s := &steps[T]{records: make(chan T), run: make(chan error, 1)}
	return s, engine.From(g, engine.Seq(func(yield func(T) bool) {
		for v := range s.records {
			if !yield(v) {
				return
			}
		}
	}))
}

func (s *steps[T]) start(t *testing.T, g *engine.Graph) *engine.Checkpoints {
	t.Helper()
	s.p = build(t, g)
	go func() { s.run <- s.p.Run(t.Context()) }()
	return s.p.EnableCheckpoints(0)
}

// step processes records.
func (s *steps[T]) step(t *testing.T, records ...T) {
	t.Helper()
	for _, v := range records {
		s.records <- v
		for s.sent++; s.p.Progress().RecordsIn < s.sent; {
			mustCut(t, s.p, 0) // makes the pipeline publish
		}
	}
}

func (s *steps[T]) end(t *testing.T) {
	t.Helper()
	close(s.records)
	if err := <-s.run; err != nil {
		t.Fatal(err)
	}
}

func mustRestore(t *testing.T, c *engine.Checkpoints, id int64) {
	t.Helper()
	if err := c.Restore(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// allKinds keeps all kinds of state, adds each record of a key to all of them and emits what they are then.
func allKinds(s engine.Stream[string]) engine.Stream[string] {
	byKey := engine.KeyBy(s, func(k string) string { return k })
	all := engine.Process(byKey, func(op *engine.Keyed[string]) engine.ProcessFunc[string, string, string] {
		n, list := engine.ValueOf[int](op, "n"), engine.ListOf[int](op, "list")
		m := engine.MapOf[int, string](op, "map")
		longest := engine.ReducingOf(op, "reducing", func(a, b string) string { return a + b })
		sum := engine.AggregatingOf(op, "aggregating", engine.Aggregation[int, []int, int]{
			Add: func(acc []int, v int) []int { return append(acc, v) }, Result: func(acc []int) int { return len(acc) },
		})
		return func(_ engine.Context, k, _ string, emit func(string)) error {
			i := n.Get() + 1
			n.Put(i)
			list.Add(i)
			m.Put(i, k)
			longest.Add(k)
			sum.Add(i)
			text, _ := longest.Get()
			length, _ := sum.Get()
			emit(fmt.Sprint(k, i, list.Get(), m.Len(), text, length))
			return nil
		}
	})
	return engine.Reduce(engine.KeyBy(all, func(s string) string { return s[:1] }), func(acc, v string) string { return acc + "; " + v })
}

// A running pipeline goes back to a checkpoint: every kind of state, all keys; and may do so again and again.
func TestAPipelineGoesBackWhileItRuns(t *testing.T) {
	g := engine.New(engine.Config{})
	s, in := newSteps[string](g)
	var rows engine.Rows[string]
	engine.ToRows(allKinds(in), &rows)
	c := s.start(t, g)
	nothing := mustTrigger(t, c)
	s.step(t, "a")
	one := mustTrigger(t, c)
	s.step(t, "a", "b")
	mustRestore(t, c, one)
	if states, err := s.p.States(t.Context()); err != nil || len(states) != 6 || slices.ContainsFunc(states, func(s engine.State) bool { return s.Keys != 1 }) {
		t.Error("the key that came later is still there:", states, err)
	}
	s.step(t, "a")
	if id := mustTrigger(t, c); id != 3 {
		t.Error("after a restore the next id is", id)
	}
	if latest, _ := c.Latest(); latest.ID != 3 {
		t.Error(latest.ID)
	}
	mustRestore(t, c, nothing)
	s.step(t, "a", "b")
	mustRestore(t, c, 3)
	s.step(t, "a")
	s.end(t)
	first, second, b := "a1 [1] 1a1", "a1 [1] 1a1; a2 [1 2] 2aa2", "b1 [1] 1b1"
	want := []string{first, second, b, second, first, b, second + "; a3 [1 2 3] 3aaa3"}
	if d := cmp.Diff(want, rows.All()); d != "" {
		t.Error(d)
	}
	mustRestore(t, c, one) // after the end
	if n, ok, err := engine.Lookup[int](t.Context(), s.p, "store-2.n", "a"); n != 1 || !ok || err != nil {
		t.Error(n, ok, err)
	}
}

// An id that is not there, or a part that does not take its state back: an error, and nothing has changed.
func TestARestoreIsWholeOrNotAtAll(t *testing.T) {
	var handed string
	var failing error
	g := engine.New(engine.Config{})
	s, in := newSteps[int](g)
	engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { return []byte("bytes"), nil }, func(b []byte) error {
		handed = string(b)
		return failing
	})
	engine.ToRows(twoStores(in, func(engine.Context, int) error { return nil }), &engine.Rows[int]{})
	c := s.start(t, g)
	s.step(t, 1)
	mustTrigger(t, c)
	s.step(t, 2)
	failing = errBoom
	for id, want := range map[int64]error{999: engine.ErrNoCheckpoint, 1: errBoom} {
		err := c.Restore(t.Context(), id)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), fmt.Sprint("restore checkpoint ", id)) {
			t.Error(id, err)
		}
		if n, _, err := engine.Lookup[int](t.Context(), s.p, "store-1.a", "k"); n != 2 || err != nil {
			t.Error("live state has changed:", n, err)
		}
	}
	failing, handed = nil, ""
	mustRestore(t, c, 1)
	if handed != "bytes" {
		t.Error(handed)
	}
	s.end(t)
}

// From inside a record a checkpoint lies in that record, and a restore takes effect at once.
func TestGoingBackInsideARecord(t *testing.T) {
	var c *engine.Checkpoints
	var got []int
	g := engine.New(engine.Config{})
	src := engine.KeyBy(engine.From(g, engine.Slice([]int{1, 2, 3})), func(int) string { return "k" })
	engine.ToRows(engine.Process(src, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
		n := engine.ValueOf[int](op, "n")
		return func(ctx engine.Context, _ string, v int, _ func(int)) error {
			n.Put(10 * v)
			id, err := c.Trigger(ctx)
			n.Put(10*v + 1)
			got = append(got, n.Get())
			if err == nil && v != 3 {
				err = c.Restore(ctx, id)
			}
			got = append(got, n.Get())
			return err
		}
	}), &engine.Rows[int]{})
	p := build(t, g)
	c = p.EnableCheckpoints(0)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{11, 10, 21, 20, 31, 31}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

// A reduce function goes back while the operator is about to write the key: it writes into what is live then.
func TestAReduceWritesIntoWhatItsFunctionHasRestored(t *testing.T) {
	for _, back := range []int64{1, 2} { // to where the key is not there yet, and to where it is
		var c *engine.Checkpoints
		var outer engine.Context
		g := engine.New(engine.Config{})
		src, err := engine.From(g, engine.Slice([]int{1, 2, 3, 4})), error(nil)
		through := engine.TryMap(src, func(ctx engine.Context, v int) (int, error) {
			outer = ctx
			if v < 3 {
				_, err := c.Trigger(ctx)
				return v, err
			}
			return v, nil
		})
		engine.ToRows(engine.Reduce(engine.KeyBy(through, func(int) string { return "k" }), func(acc, v int) int {
			if v == 3 {
				err = c.Restore(outer, back)
			}
			return acc + v
		}), &engine.Rows[int]{})
		p := build(t, g)
		c = p.EnableCheckpoints(0)
		if err := errors.Join(p.Run(t.Context()), err); err != nil {
			t.Fatal(err)
		}
		if n, ok, err := engine.Lookup[int](t.Context(), p, "store-1.reduce", "k"); n != 10 || !ok || err != nil {
			t.Error(n, ok, err)
		}
	}
}

// Triggers and restores from many goroutines, at random moments: no record is ever seen half done.
func TestGoingBackAtRandomMoments(t *testing.T) {
	p := pairs(t, numbersTo(20_000), nil)
	c := p.EnableCheckpoints(50)
	mustTrigger(t, c)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for round := 0; ; round++ {
				var err error
				if ids := c.IDs(); (round+i)%2 == 0 {
					err = c.Restore(t.Context(), ids[round%len(ids)])
				} else {
					_, err = c.Trigger(t.Context())
				}
				if err != nil && !errors.Is(err, engine.ErrNoCheckpoint) { // another may have dropped it
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	err := p.Run(t.Context())
	close(done)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range c.IDs() {
		if s, _ := c.Get(id); pairOf(t, s)[0] != pairOf(t, s)[1] {
			t.Errorf("checkpoint %d has %v", id, pairOf(t, s))
		}
	}
}

// With several subtasks, all of them go back together; inside a record that is refused.
func TestAllSubtasksGoBackTogether(t *testing.T) {
	g := engine.New(engine.Config{Parallelism: 3})
	s, in := newSteps[int](g)
	var refused error
	var c *engine.Checkpoints
	engine.ToRows(engine.Process(engine.KeyBy(in, func(v int) int { return v % 100 }), func(op *engine.Keyed[int]) engine.ProcessFunc[int, int, int] {
		n := engine.ValueOf[int](op, "n")
		return func(ctx engine.Context, _, v int, _ func(int)) error {
			n.Put(n.Get() + 1)
			if v == 999 {
				refused = c.Restore(ctx, 1)
			}
			return nil
		}
	}), &engine.Rows[int]{})
	c = s.start(t, g)
	counts := func() (keys, sum int) {
		all, err := engine.Scan[int, int](t.Context(), s.p, "store-1.n")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			keys++
			sum += n
		}
		return keys, sum
	}
	until := func(want int) {
		for sum := -1; sum != want; _, sum = counts() {
		}
	}
	s.step(t, numbersTo(80)...)
	until(80)
	mustTrigger(t, c)
	s.step(t, 81, 82, 83, 1, 2, 3, 999)
	until(87)
	if !errors.Is(refused, engine.ErrInRecord) {
		t.Error(refused)
	}
	mustRestore(t, c, 1)
	if keys, sum := counts(); keys != 80 || sum != 80 {
		t.Error(keys, sum)
	}
	s.end(t)
}
