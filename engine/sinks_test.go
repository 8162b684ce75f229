package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// evenAndOdd writes numbers to two files.
func evenAndOdd(t *testing.T, cfg engine.Config, files ...func(g *engine.Graph, s engine.Stream[int])) *engine.Pipeline {
	t.Helper()
	g := engine.New(cfg)
	s := engine.From(g, engine.Slice([]int{1, 2, 3, 4, 5}))
	for _, add := range files {
		add(g, s)
	}
	return build(t, g)
}

func numbersToFile(path string, rest int, uid string) func(g *engine.Graph, s engine.Stream[int]) {
	return func(_ *engine.Graph, s engine.Stream[int]) {
		sink := engine.ToFile(engine.Filter(s, func(v int) bool { return v%2 == rest }), path, engine.JSONRow[int])
		if uid != "" {
			sink.WithUID(uid)
		}
	}
}

// File sinks in another order are told from each other: nothing of one goes to the file of another, and nothing is removed.
func TestFileSinksInAnotherOrderAreRefusedOrNamed(t *testing.T) {
	for _, named := range []bool{false, true} {
		dir := t.TempDir()
		uid := func(name string) string {
			if named {
				return name
			}
			return ""
		}
		even := numbersToFile(filepath.Join(dir, "even.jsonl"), 0, uid("even"))
		odd := numbersToFile(filepath.Join(dir, "odd.jsonl"), 1, uid("odd"))
		first := evenAndOdd(t, engine.Config{}, even, odd)
		if err := first.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		cut := encode(t, mustCut(t, first, 1))
		before, _ := filepath.Glob(filepath.Join(dir, "*"))
		second := evenAndOdd(t, engine.Config{AllowNonRestored: true}, odd, even)
		err := second.Restore(t.Context(), cut, engine.Adopt)
		if !named {
			if !errors.Is(err, engine.ErrLost) || !strings.Contains(err.Error(), "WithUID") {
				t.Error("swapped sinks:", err)
			}
			if after, _ := filepath.Glob(filepath.Join(dir, "*")); len(after) != len(before) {
				t.Error("files before and after:", before, after)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(second.Run(t.Context()), second.Finish(t.Context())); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"even": "2\n4\n", "odd": "1\n3\n5\n"} {
			if b, err := os.ReadFile(filepath.Join(dir, name+".jsonl")); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}

func TestAFileOfTwoSinksIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.jsonl")
	g := engine.New(engine.Config{})
	s := engine.From(g, engine.Slice([]int{1}))
	numbersToFile(path, 0, "")(g, s)
	numbersToFile(filepath.Dir(path)+"/./all.jsonl", 1, "")(g, s)
	if _, err := g.Build(); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "file-1") {
		t.Error(err)
	}
}

// A committed part that is gone is no error that time mends.
func TestAMissingPartIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	p := evenAndOdd(t, engine.Config{}, numbersToFile(path, 0, ""))
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, i := range mustCut(t, p, 1).Items {
		if _, err := i.Encode(); err != nil {
			t.Fatal(err)
		}
	}
	parts, _ := filepath.Glob(path + ".part-*")
	if len(parts) != 1 {
		t.Fatal(parts)
	}
	if err := os.Remove(parts[0]); err != nil {
		t.Fatal(err)
	}
	if err := p.Completed(t.Context(), 1); !errors.Is(err, engine.ErrLost) {
		t.Error(err)
	}
}

// A panic says where it was.
func TestAPanicNamesItsPlace(t *testing.T) {
	g := engine.New(engine.Config{})
	s := engine.Map(engine.From(g, engine.Slice([]int{1})), func(v int) int { return []int{}[v] })
	engine.ForEach(s, func(engine.Context, int) error { return nil })
	err := build(t, g).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "panic: runtime error: index out of range [1] with length 0 (sinks_test.go:") {
		t.Error(err)
	}
}

// Whoever wants a uid on all that keeps state is told what has none.
func TestRequiredUIDsAreMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	g := engine.New(engine.Config{RequireUIDs: true, Parallelism: 2})
	s := engine.EventTime(engine.From(g, engine.Slice([]int{1})).WithUID("numbers"), nil, engine.Ascending())
	counts := engine.Count(engine.KeyBy(s, func(v int) int { return v }))
	engine.ToFile(counts, path, engine.JSONRow[int64]).WithUID("out")
	_, err := g.Build()
	for _, name := range []string{"watermark-1", "store-1"} {
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "source") || strings.Contains(err.Error(), "file") {
			t.Error(name, err)
		}
	}
}
