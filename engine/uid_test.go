package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// named is a graph whose operators have uids, unless plain; its variants have more operators, fewer, or others in front.
func named(cfg engine.Config, variant string, plain bool, early func(event) error) *engine.Graph {
	g := engine.New(cfg)
	in := make([]event, 200)
	for i := range in {
		in[i] = event{string(rune('a' + i%5)), int64(i), int64(i)}
	}
	nobody := func(engine.Context, string) error { return nil }
	text := func(n int64) string { return fmt.Sprint(n) }
	uid := func(s engine.Stream[event], name string) engine.Stream[event] {
		if plain {
			return s
		}
		return s.WithUID(name)
	}
	s := uid(engine.From(g, watched{in, calm().before}), "numbers")
	s = engine.TryMap(s, func(_ engine.Context, e event) (event, error) { return e, early(e) })
	timed := uid(engine.EventTime(s, nil, engine.Ascending()), "clock")
	k := engine.KeyBy(timed, func(e event) string { return e.Key })
	if !plain {
		k = k.WithUID("move")
	}
	count := func() {
		n := engine.Count(k)
		if !plain {
			n = n.WithUID("counts")
		}
		engine.ForEach(engine.Map(n, text), nobody)
	}
	more := func() {
		added := engine.Sum(engine.KeyBy(engine.Filter(timed, func(e event) bool { return e.N%2 == 0 }), func(e event) string { return e.Key }), func(event) int64 { return 1 })
		engine.ForEach(engine.Map(added, text), nobody)
	}
	windows := func() {
		w := engine.CountWindow(engine.Window(k, window.Tumbling(1000*ms)))
		if !plain {
			w = w.WithUID("days")
		}
		engine.ForEach(engine.Map(w, func(r engine.Result[string, int64]) string { return r.Key }), nobody)
	}
	switch variant {
	case "more":
		more()
		count()
		windows()
	case "other order":
		windows()
		count()
	case "fewer":
		count()
	default:
		count()
		windows()
	}
	return g
}

func noError(event) error { return nil }

// State with a uid is found again in another graph, at another parallelism.
func TestStateWithUIDSurvivesAnotherGraph(t *testing.T) {
	full := build(t, named(engine.Config{MaxParallelism: 8}, "", false, noError))
	if err := full.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := encode(t, mustCut(t, full, 1))
	for _, parallelism := range []int{1, 3} {
		cfg := engine.Config{MaxParallelism: 8, Parallelism: parallelism, Queue: 4}
		cut := until(t, build(t, named(cfg, "", false, func(e event) error {
			if e.N == 150 {
				return errBoom
			}
			return nil
		})))
		for _, c := range []struct {
			variant string
			strict  error
		}{{"more", engine.ErrMissingItem}, {"other order", nil}, {"fewer", engine.ErrUnknownItem}} {
			for _, to := range []int{1, 3} {
				cfg.Parallelism, cfg.AllowNonRestored = to, false
				if err := build(t, named(cfg, c.variant, false, noError)).Restore(t.Context(), cut, engine.Adopt); !errors.Is(err, c.strict) {
					t.Errorf("%s, strictly: %v", c.variant, err)
				}
				cfg.AllowNonRestored = true
				p := build(t, named(cfg, c.variant, false, noError))
				if err := errors.Join(p.Restore(t.Context(), cut, engine.Adopt), p.Run(t.Context())); err != nil {
					t.Fatal(err)
				}
				got := encode(t, mustCut(t, p, 1))
				for name, b := range want {
					if strings.HasPrefix(name, "counts.") && strings.Contains(name, "/") || name == "numbers" {
						if d := cmp.Diff(b, got[name]); d != "" {
							t.Errorf("%s, from %d to %d subtasks, %s: %s", c.variant, parallelism, to, name, d)
						}
					}
				}
			}
		}
	}
}

// Without uids, a changed graph is refused by name.
func TestWithoutUIDAnotherGraphIsRefused(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		cfg := engine.Config{Parallelism: parallelism, MaxParallelism: 8}
		cut := encode(t, mustCut(t, build(t, named(cfg, "", true, noError)), 1))
		for variant, name := range map[string]string{"more": "store-", "fewer": "window-1"} {
			err := build(t, named(cfg, variant, true, noError)).Restore(t.Context(), cut, engine.Adopt)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", variant, err)
			}
		}
		cfg.MaxParallelism = 9
		if err := build(t, named(cfg, "", true, noError)).Restore(t.Context(), cut, engine.Adopt); err == nil {
			t.Error("another number of key groups was accepted")
		}
	}
}

func TestMistakesOfUIDs(t *testing.T) {
	for _, name := range []string{"", "a/b", "a@1", "a.b", "numbers", "parallelism"} {
		g := named(engine.Config{}, "", false, noError)
		s := engine.Map(engine.From(g, upTo(3)), func(v int) int { return v }).WithUID(name)
		engine.ForEach(s, untouchedInt)
		if _, err := g.Build(); !errors.Is(err, engine.ErrName) {
			t.Errorf("uid %q: %v", name, err)
		}
	}
	// A uid may not be what another operator is called by itself.
	g := engine.New(engine.Config{})
	for range 2 {
		engine.ForEach(engine.From(g, upTo(3)), untouchedInt)
	}
	engine.ForEach(engine.From(g, upTo(3)).WithUID("source-1"), untouchedInt)
	if _, err := g.Build(); !errors.Is(err, engine.ErrName) {
		t.Error(err)
	}
}
