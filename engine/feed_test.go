package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// gather reads a sequence to its end, or until it has n values.
func gather[T any](seq iter.Seq2[T, error], n int) (all []T, err error) {
	for v, e := range seq {
		if e != nil {
			return all, e
		}
		if all = append(all, v); len(all) == n {
			break
		}
	}
	return all, nil
}

func TestCollectIsLazyAndCanBeRepeated(t *testing.T) {
	calls := 0
	g := engine.New(engine.Config{})
	s := engine.Filter(engine.From(g, engine.Slice([]int{0, 1, 2, 3, 4})), func(v int) bool { calls++; return v%2 == 0 })
	engine.ForEach(s, func(engine.Context, int) error { return errBoom }) // no part of the sequence
	seq := engine.Collect(t.Context(), s)
	if calls != 0 {
		t.Error("a function ran before the loop")
	}
	for range 2 {
		if got, err := gather(seq, -1); err != nil || !slices.Equal(got, []int{0, 2, 4}) {
			t.Error(got, err)
		}
	}
	next, stop := iter.Pull2(seq)
	defer stop()
	for _, want := range []int{0, 2, 4} {
		if v, err, ok := next(); v != want || err != nil || !ok {
			t.Error(v, err, ok)
		}
	}
	for range 2 {
		if _, _, ok := next(); ok {
			t.Error("the sequence goes on behind its end")
		}
	}
	if calls != 15 {
		t.Errorf("%d calls for 3 runs of 5 records", calls)
	}
}

func TestCollectEndsWithTheErrorOfTheRun(t *testing.T) {
	g := engine.New(engine.Config{})
	s := engine.TryMap(engine.From(g, engine.Slice([]int{1, 2, 3})), func(_ engine.Context, v int) (int, error) {
		if v == 3 {
			return 0, errBoom
		}
		return v, nil
	})
	if got, err := gather(engine.Collect(t.Context(), s), -1); !errors.Is(err, errBoom) || !slices.Equal(got, []int{1, 2}) {
		t.Error(got, err)
	}
	if _, err := gather(engine.Collect(t.Context(), engine.From[int](g, nil)), -1); !errors.Is(err, engine.ErrNil) {
		t.Error(err)
	}
	if _, err := gather(engine.Collect(t.Context(), engine.Stream[int]{}), -1); !errors.Is(err, engine.ErrNil) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	endless := engine.From(engine.New(engine.Config{}), engine.Generate(engine.Endless, func(i int64) int64 { return i }))
	n := 0
	for _, err := range engine.Collect(ctx, endless) {
		if n++; n == 5000 {
			cancel(errBoom)
		}
		if err != nil && !errors.Is(err, errBoom) {
			t.Error(err)
		}
	}
}

// Leaving the loop, also by a panic, ends the run with all its goroutines; with several subtasks too.
func TestLeavingTheLoopEndsTheRun(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		g := engine.New(engine.Config{Parallelism: parallelism, Queue: 4})
		s := engine.Rebalance(engine.From(g, engine.Generate(engine.Endless, func(i int64) int64 { return i })))
		synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
			if got, err := gather(engine.Collect(t.Context(), s), 100); err != nil || len(got) != 100 {
				t.Error(len(got), err)
			}
			defer func() {
				if v := recover(); v != any(errBoom) {
					t.Error(v)
				}
			}()
			for _, err := range engine.Collect(t.Context(), s) {
				if err == nil {
					panic(errBoom)
				}
			}
		})
	}
}

// A slow loop holds the source up, not cuts; what it has not finished with is in them.
func TestASlowLoop(t *testing.T) {
	job := func(made *int64) (*engine.Pipeline, *engine.Feed[string]) {
		g := engine.New(engine.Config{Queue: 8})
		feed := engine.ToFeed(engine.From(g, engine.Generate(100, func(i int64) string { *made = i; return fmt.Sprint(i) })))
		return build(t, g), feed
	}
	var items map[string][]byte
	var got []string
	synctest.Test(t, func(t *testing.T) {
		var made int64
		p, feed := job(&made)
		for v, err := range feed.Run(t.Context(), p) {
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(got) == 20 {
				// One queue before the pipeline and two behind it, and what is in the hands of both.
				if made > 20+4*8 {
					t.Errorf("the source is at %d", made)
				}
				items = encode(t, mustCut(t, p, 1))
				break // in the middle of record 20
			}
			got = append(got, v)
		}
	})
	var made int64
	p, feed := job(&made)
	if err := p.Restore(t.Context(), items, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	rest, err := gather(feed.Run(t.Context(), p), -1)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
	}
	if d := cmp.Diff(want, append(got, rest...)); d != "" || err != nil {
		t.Error(d, err)
	}
	// Run again, the pipeline refuses, and the loop does not wait for ever. What was read has gone from the cut.
	if again, err := gather(feed.Run(t.Context(), p), -1); again != nil || !errors.Is(err, engine.ErrStarted) {
		t.Error(again, err)
	}
	if b := encode(t, mustCut(t, p, 2))["feed-1"]; !bytes.Equal(b, []byte{'Q', 1, 0}) {
		t.Errorf("%x", b)
	}
}

// A run elsewhere is read by a loop that is left and entered again; a fresh start forgets what was not read.
func TestAFeedOfARunElsewhere(t *testing.T) {
	g := engine.New(engine.Config{})
	feed := engine.ToFeed(engine.From(g, engine.Slice([]int{1, 2, 3, 4})))
	p := build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	items := encode(t, mustCut(t, p, 1))
	for _, want := range []int{1, 2} {
		for v := range feed.All(t.Context()) {
			if v != want {
				t.Error(v)
			}
			break
		}
	}
	if got := slices.Collect(feed.All(t.Context())); !slices.Equal(got, []int{3, 4}) {
		t.Error(got)
	}
	g = engine.New(engine.Config{})
	feed = engine.ToFeed(engine.From(g, engine.Slice([]int{5})))
	p = build(t, g)
	if err := errors.Join(p.Restore(t.Context(), items, engine.Fresh), p.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(feed.All(t.Context())); !slices.Equal(got, []int{5}) {
		t.Error(got)
	}
}

// failing is a writer that fails after some writes.
type failing struct {
	strings.Builder
	left int
}

func (w *failing) Write(b []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errBoom
	}
	return w.Builder.Write(b)
}

func TestToWriter(t *testing.T) {
	run := func(w *failing) (*engine.Pipeline, error) {
		g := engine.New(engine.Config{})
		engine.ToWriter(engine.From(g, engine.Slice([]any{1, "a b", nil, errBoom})), w)
		p := build(t, g)
		return p, p.Run(t.Context())
	}
	w := &failing{left: 100}
	p, err := run(w)
	if want := "1\na b\n<nil>\nboom\n"; w.String() != want || err != nil {
		t.Errorf("%q, %v", w.String(), err)
	}
	if b := encode(t, mustCut(t, p, 1))["writer-1"]; !bytes.Equal(b, []byte{'N', 1, 4}) {
		t.Errorf("%x", b)
	}
	w = &failing{left: 2}
	if _, err = run(w); err == nil || err.Error() != "writer-1: write lines: boom" || w.String() != "1\na b\n" {
		t.Errorf("%q, %v", w.String(), err)
	}
	g := engine.New(engine.Config{})
	engine.ToWriter(engine.From(g, engine.Slice([]int{1})), nil)
	if _, err := g.Build(); !errors.Is(err, engine.ErrNil) {
		t.Error(err)
	}
}
