package nexmark_test

import (
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

// A run that dies in the middle and is adopted gives the rows of one that does not.
func TestQueriesGoOnFromACut(t *testing.T) {
	const n, at = 100_000, 60_000
	gen := generator(t, nexmark.Config{Events: n, Delay: time.Millisecond, Disorder: 500})
	t.Run("q5", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q5) })
	t.Run("q7", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q7) })
	t.Run("q11", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q11) })
}

func goesOn[T any](t *testing.T, gen *nexmark.Generator, at int64, q func(engine.Stream[nexmark.Event]) engine.Stream[T]) {
	t.Helper()
	var rows engine.Rows[T]
	whole := rowsOf(t, engine.Config{}, on(gen, q))
	errDead, items := errors.New("dead"), map[string][]byte{}
	var first *engine.Pipeline
	first = build(t, engine.Config{}, func(g *engine.Graph) engine.Stream[T] {
		n := int64(0)
		return q(engine.TryMap(nexmark.Events(g, gen), func(c engine.Context, e nexmark.Event) (nexmark.Event, error) {
			if n++; n < at {
				return e, nil
			}
			s, err := first.Cut(c, 1)
			if err != nil {
				return e, err
			}
			for _, i := range s.Items {
				if items[i.Name], err = i.Encode(); err != nil {
					return e, err
				}
			}
			return e, errDead
		}))
	}, &rows)
	if err := first.Run(t.Context()); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	second := build(t, engine.Config{}, on(gen, q), &rows)
	if err := second.Restore(t.Context(), items, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(whole, rows.All()); d != "" {
		t.Error(d)
	}
}
