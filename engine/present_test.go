package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// Records belong to the window in which they come, whatever their timestamps; it is emitted when the clock reaches its end,
// also while none come, and at the end of the input.
func TestWindowsInProcessingTime(t *testing.T) {
	run := func(a window.Assigner) (got []string) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			clock := func() int64 { return time.Since(start).Milliseconds() }
			g := engine.New(engine.Config{Clock: clock})
			src := engine.From(g, sourceFunc[event](func(_ context.Context, c *engine.Collector[event]) error {
				err := errors.Join(c.CollectAt(at(90_000), 90_000), c.CollectAt(event{"b", 20, 7}, 20))
				time.Sleep(2500 * ms)
				err = errors.Join(err, c.CollectAt(at(30), 30))
				time.Sleep(500 * ms)
				return errors.Join(err, c.CollectAt(at(40), 40))
			}))
			timed := engine.EventTime(src, nil, engine.Ascending())
			w := engine.Window(engine.KeyBy(timed, func(e event) string { return e.Key }), a).InProcessingTime()
			engine.ForEach(engine.TryMap(sumText(w), func(c engine.Context, row string) (string, error) {
				return fmt.Sprintf("%s@%d", row, c.Timestamp()), nil
			}), func(_ engine.Context, row string) error {
				got = append(got, fmt.Sprint(row, " at ", clock()))
				return nil
			})
			if err := build(t, g).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		return got
	}
	want := []string{
		"k[0-1000]=1@90000 at 1000", "b[0-1000]=7@20 at 1000",
		"k[2000-3000]=1@30 at 3000", "k[3000-4000]=1@40 at 3000", // the end of the input
	}
	if d := cmp.Diff(want, run(window.Tumbling(time.Second))); d != "" {
		t.Error(d)
	}
	want = []string{
		"k[-1000-1000]=1@90000 at 1000", "b[-1000-1000]=7@20 at 1000", "k[0-2000]=1@90000 at 2000", "b[0-2000]=7@20 at 2000",
		"k[1000-3000]=1@30 at 3000", "k[2000-4000]=2@40 at 3000", "k[3000-5000]=1@40 at 3000",
	}
	if d := cmp.Diff(want, run(window.Sliding(2*time.Second, time.Second))); d != "" {
		t.Error(d)
	}
}

// An open window is in the cut and over when the clock says so after it; a clock that goes back opens no window again.
func TestWindowsInProcessingTimeAreAdopted(t *testing.T) {
	now := int64(900)
	var p *engine.Pipeline
	var items map[string][]byte
	var rows engine.Rows[string]
	job := func(hook func(c engine.Context, e event) error) *engine.Pipeline {
		g := engine.New(engine.Config{Clock: func() int64 { return now }})
		src := engine.TryMap(engine.From(g, watched{valued(1, 2, 4, 8, 16), calm().before}), func(c engine.Context, e event) (event, error) { return e, hook(c, e) })
		w := engine.Window(engine.KeyBy(src, func(e event) string { return e.Key }), window.Tumbling(time.Second)).InProcessingTime()
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
	now = 5500 // down for a while
	second := job(func(_ engine.Context, e event) error {
		if e.N == 16 {
			now = 200
		}
		return nil
	})
	if err := errors.Join(second.Restore(t.Context(), items, engine.Adopt), second.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if want := []string{"k[0-1000]=3", "k[5000-6000]=28"}; !slices.Equal(rows.All(), want) {
		t.Error(rows.All())
	}
}

func TestMistakesWithProcessingTimeAreReportedWhenTheGraphIsBuilt(t *testing.T) {
	clock := func() int64 { return 0 }
	second := window.Tumbling(time.Second)
	for _, c := range []struct {
		name  string
		a     window.Assigner
		clock func() int64
		with  func(windowed) windowed
		want  error
		text  string
	}{
		{"no clock", second, nil, nil, engine.ErrNoClock, "window-1: windows in processing time"},
		{"sessions", window.Session(time.Second), clock, nil, engine.ErrInvalid, "windows of session(1000) in processing time"},
		{"a trigger", second, clock, func(w windowed) windowed { return w.WithTrigger(window.OnCount(2)) }, engine.ErrInvalid, "with trigger on-count(2)"},
		{"counts", window.Count(2), clock, nil, engine.ErrInvalid, "with trigger purging(on-count(2))"},
		{"lateness", second, clock, func(w windowed) windowed { return w.WithLateness(time.Second) }, engine.ErrInvalid, "lateness"},
	} {
		g := engine.New(engine.Config{Clock: c.clock})
		w := windows(g, nil, c.a).InProcessingTime()
		if c.with != nil {
			w = c.with(w)
		}
		var rows engine.Rows[string]
		engine.ToRows(sumText(w), &rows)
		if _, err := g.Build(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
