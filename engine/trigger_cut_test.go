package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// The cut shows open sessions as they have grown: bounds, latest timestamp and content.
func TestSessionsInTheCut(t *testing.T) {
	var p *engine.Pipeline
	var items map[string][]byte
	graph := func(g *engine.Graph) {
		src := engine.TryMap(engine.From(g, watched{[]event{{"a", 0, 1}, {"b", 10, 2}, {"a", 170, 3}, {"a", 80, 4}, {"z", 99, 5}}, calm().before}), func(c engine.Context, e event) (event, error) {
			if e.Key == "z" {
				s, err := p.Cut(c, 1)
				items, err = encodeAll(s, err)
				return e, err
			}
			return e, nil
		})
		var rows engine.Rows[string]
		w := engine.Window(engine.KeyBy(src, func(e event) string { return e.Key }), window.Session(100*ms))
		engine.ToRows(engine.ApplyWindow(w, func(_ engine.Context, _ string, _ window.Window, all []event, emit func(string)) error {
			emit(fmt.Sprint(all))
			return nil
		}), &rows)
	}
	g := engine.New(engine.Config{})
	graph(g)
	p = build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := mirror(t, items, graph)["window-1"]
	slices.SortFunc(got, func(a, b engine.Entry) int { return len(b.Content) - len(a.Content) })
	// The sessions of a were apart until the third record joined them: what the newer one had comes behind the older.
	want := []engine.Entry{
		{Item: "window-1", Key: "a", Window: window.Window{Start: 0, End: 270}, Last: 170, Content: "[{a 0 1} {a 170 3} {a 80 4}]"},
		{Item: "window-1", Key: "b", Window: window.Window{Start: 10, End: 110}, Last: 10, Content: "[{b 10 2}]"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A moment of processing time that a trigger waits for is in the cut, and fires after it when the clock is there.
func TestProcessingTimeIsAdopted(t *testing.T) {
	now := int64(100)
	var p *engine.Pipeline
	var items map[string][]byte
	var rows engine.Rows[string]
	job := func(hook func(c engine.Context, e event) error) *engine.Pipeline {
		g := engine.New(engine.Config{Clock: func() int64 { return now }})
		src := engine.TryMap(engine.From(g, watched{valued(1, 2, 4, 8), calm().before}), func(c engine.Context, e event) (event, error) { return e, hook(c, e) })
		w := engine.Window(engine.KeyBy(src, func(e event) string { return e.Key }), window.Tumbling(time.Second)).WithTrigger(window.OnProcessingTime())
		engine.ToRows(sumText(w), &rows)
		return build(t, g)
	}
	p = job(func(c engine.Context, e event) error {
		if e.N != 4 {
			return nil
		}
		s, err := p.Cut(c, 1)
		items, err = encodeAll(s, err)
		return errors.Join(err, errBoom)
	})
	if err := p.Run(t.Context()); !errors.Is(err, errBoom) || rows.Len() > 0 {
		t.Fatal(err, rows.All())
	}
	now = 5000 // down for a while: the window's end has passed meanwhile
	second := job(func(engine.Context, event) error { return nil })
	if err := errors.Join(second.Restore(t.Context(), items, engine.Adopt), second.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := rows.All(); len(got) < 2 || got[0] != "k[0-1000]=3" {
		t.Error(got)
	}
}
