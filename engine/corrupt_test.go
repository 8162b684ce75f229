package engine_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// corruptible is a pipeline with every kind of state that several subtasks have.
func corruptible(t interface{ Fatal(...any) }, first string, parallelism int, early func(event) error) *engine.Pipeline {
	c := course{
		plan:  plan{groups: 8, queue: 64, disorder: 30 * ms, size: 20 * ms, threshold: -5, lateness: 5 * ms, shape: func(p plan) window.Assigner { return window.Session(p.size) }},
		timed: true, first: first, second: "finer", union: "before", ttl: 40 * ms,
	}
	for i := range 120 {
		c.in = append(c.in, event{string(rune('a' + i%7)), int64(i*4 - i%5*9), int64(i%11) - 5})
	}
	h := calm()
	h.early = early
	sink := func(s engine.Stream[string]) { engine.ForEach(s, func(engine.Context, string) error { return nil }) }
	return build(t, c.graph(parallelism, h, sink, sink))
}

// Whatever becomes of the bytes of a cut of several subtasks: it is refused whole, and then the pipeline is as it was; or it is
// restored, and then the run ends.
func TestACorruptCutIsRefusedOrRestored(t *testing.T) {
	calmly := func(event) error { return nil }
	cuts := make(map[string]map[string][]byte)
	empty := make(map[string]map[string][]byte)
	for _, first := range []string{"states", "windows"} {
		left := 80
		cuts[first] = until(t, corruptible(t, first, 3, func(event) error {
			if left--; left == 0 {
				return errBoom
			}
			return nil
		}))
		empty[first] = encode(t, mustCut(t, corruptible(t, first, 2, calmly), 0))
	}
	refused, restored := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		first := rapid.SampledFrom([]string{"states", "windows"}).Draw(rt, "first")
		cut := maps.Clone(cuts[first])
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(cut))).Draw(rt, "item")
		b := slices.Clone(cut[name])
		at := rapid.IntRange(0, max(len(b)-1, 0)).Draw(rt, "at")
		switch rapid.IntRange(0, 4).Draw(rt, "how") {
		case 0:
			b = b[:at]
		case 1:
			b = slices.Insert(b, at, rapid.Byte().Draw(rt, "byte"))
		case 2:
			b = slices.Delete(b, at, min(at+1, len(b)))
		default:
			if len(b) > 0 {
				b[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			}
		}
		cut[name] = b
		p := corruptible(rt, first, 2, calmly)
		if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil {
			refused++
			if d := cmp.Diff(empty[first], encode(rt, mustCut(t, p, 0))); d != "" {
				rt.Fatalf("%s was refused, and left something: %s", name, d)
			}
			return
		}
		restored++
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Run(ctx); ctx.Err() != nil {
			rt.Fatalf("%s was restored, and the run does not end: %v", name, err)
		}
	})
	if refused == 0 || restored == 0 {
		t.Errorf("%d refused, %d restored", refused, restored)
	}
}
