package engine_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// A restore takes the whole cut or nothing, and names what is wrong.
func TestRestoreIsStrict(t *testing.T) {
	graph := func(g *engine.Graph, src engine.Source[int], size time.Duration) {
		var rows engine.Rows[int]
		s := engine.EventTime(twoStores(engine.From(g, src), func(engine.Context, int) error { return nil }), nil, engine.Ascending())
		engine.ToRows(results(engine.CountWindow(engine.Window(engine.KeyBy(s, func(v int) int { return v }), window.Tumbling(size)))), &rows)
	}
	fresh := func(src engine.Source[int], size time.Duration, groups int) *engine.Pipeline {
		g := engine.New(engine.Config{MaxParallelism: groups})
		graph(g, src, size)
		return build(t, g)
	}
	usual := func() *engine.Pipeline { return fresh(engine.Slice([]int{1, 2, 3}), time.Second, 4) }
	ctx, cancel := context.WithCancelCause(t.Context())
	p := fresh(sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
		err := errors.Join(c.Collect(1), c.Collect(2), c.Collect(3))
		<-ctx.Done()
		return err
	}), time.Second, 4)
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.Run(ctx) })
	for p.Progress().RecordsIn < 3 {
		mustCut(t, p, 0)
	}
	whole := encode(t, mustCut(t, p, 1))
	cancel(errBoom)
	wg.Wait()

	empty := encode(t, mustCut(t, usual(), 0))
	with := func(name string, b []byte) map[string][]byte {
		m := maps.Clone(whole)
		if b == nil {
			delete(m, name)
		} else {
			m[name] = b
		}
		return m
	}
	for name := range whole {
		p := usual()
		for what, items := range map[string]map[string][]byte{
			"missing": with(name, nil), "cut short": with(name, whole[name][:len(whole[name])-1]), "too long": with(name, append(slices.Clone(whole[name]), 0)),
			"newer": with(name, append([]byte{whole[name][0], 9}, whole[name][2:]...)),
		} {
			err := p.Restore(t.Context(), items, engine.Adopt)
			if err == nil || !strings.Contains(err.Error(), strings.TrimRight(name, "/0123456789")) {
				t.Errorf("%s %s: %v", name, what, err)
			}
		}
		if d := cmp.Diff(empty, encode(t, mustCut(t, p, 0))); d != "" {
			t.Errorf("a refused restore left something: %s", d)
		}
	}
	err := usual().Restore(t.Context(), with("store-9.a", []byte{1}), engine.Adopt)
	if !errors.Is(err, engine.ErrUnknownItem) || !strings.Contains(err.Error(), "store-9.a") {
		t.Error(err)
	}
	for name, p := range map[string]*engine.Pipeline{
		"another window":            fresh(engine.Slice([]int{1}), time.Minute, 4),
		"another number of groups":  fresh(engine.Slice([]int{1}), time.Second, 8),
		"a source that cannot seek": fresh(engine.Seq(slices.Values([]int{1})), time.Second, 4),
	} {
		if err := p.Restore(t.Context(), whole, engine.Adopt); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	good := usual()
	if err := good.Restore(t.Context(), whole, engine.Fresh); err != nil {
		t.Error(err)
	}
}

// An unchanged key group gives the same bytes again; a changed one does not.
func TestUnchangedGroupsGiveTheSameBytes(t *testing.T) {
	step := make(chan int) // the test sends, the source receives; unbuffered, one value per step
	g := engine.New(engine.Config{MaxParallelism: 64})
	src := engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
		for v := range step {
			if err := c.Collect(v); err != nil {
				return err
			}
		}
		return nil
	}))
	var rows engine.Rows[int]
	engine.ToRows(engine.Sum(engine.KeyBy(src, func(v int) int { return v }), func(int) int { return 1 }), &rows)
	p := build(t, g)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	feed := func(values ...int) map[string][]byte {
		want := p.Progress().RecordsIn + int64(len(values))
		for _, v := range values {
			step <- v
		}
		for p.Progress().RecordsIn < want {
			mustCut(t, p, 0)
		}
		return encode(t, mustCut(t, p, 1))
	}
	all := make([]int, 500)
	for i := range all {
		all[i] = i
	}
	first := feed(all...)
	second := feed(7)
	close(step)
	wg.Wait()
	changed := 0
	for name, b := range second {
		if strings.HasPrefix(name, "store-1.sum/") && string(first[name]) != string(b) {
			changed++
		}
	}
	if changed != 1 || len(first) != len(second) {
		t.Errorf("%d key groups changed, of %d items", changed, len(second))
	}
}

// Windows emit their keys in the order of their first records, over any number of restores.
func TestOrderOfKeysSurvivesRestores(t *testing.T) {
	in := []string{"z", "y", "x", "b", "a", "c"}
	var rows engine.Rows[string]
	var items map[string][]byte
	for stop := 1; stop <= len(in); stop++ { // one record per attempt
		g := engine.New(engine.Config{MaxParallelism: 3})
		ctx, cancel := context.WithCancelCause(t.Context())
		var p *engine.Pipeline
		src := engine.From(g, seekable{in, func(i int64) {
			if i == int64(stop) && stop < len(in) {
				for p.Progress().RecordsIn < i {
					runtime.Gosched()
				}
				cancel(errBoom)
			}
		}})
		w := engine.Window(engine.KeyBy(src, func(s string) string { return s }), window.Tumbling(time.Hour))
		engine.ToRows(engine.Map(engine.CountWindow(w), func(r engine.Result[string, int64]) string { return r.Key }), &rows)
		p = build(t, g)
		if items != nil {
			if err := p.Restore(t.Context(), items, engine.Adopt); err != nil {
				t.Fatal(err)
			}
		}
		err := p.Run(ctx)
		if stop < len(in) != errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		items = encode(t, mustCut(t, p, int64(stop)))
		cancel(nil)
	}
	if d := cmp.Diff(in, rows.All()); d != "" {
		t.Error(d)
	}
}

// seekable is a source that waits for its end before the record at which before ends the run.
type seekable struct {
	in     []string
	before func(i int64)
}

func (s seekable) Seekable() bool { return true }

func (s seekable) Run(_ context.Context, c *engine.Collector[string]) error {
	for i := c.From(); i < int64(len(s.in)); i++ {
		s.before(i)
		if err := c.Collect(s.in[i]); err != nil {
			return err
		}
	}
	return nil
}

// A source that returns nil because it was told to stop has not come to the end of its input: no window is flushed.
func TestCancelIsNotTheEndOfTheInput(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancelCause(t.Context())
		g := engine.New(engine.Config{})
		src := engine.From(g, sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
			err := c.Collect(1)
			cancel(errBoom)
			<-ctx.Done()
			return err
		}))
		var rows engine.Rows[engine.Result[int, int64]]
		engine.ToRows(engine.CountWindow(engine.Window(engine.KeyBy(src, func(v int) int { return v }), window.Tumbling(time.Hour))), &rows)
		p := build(t, g)
		if err := p.Run(ctx); !errors.Is(err, errBoom) || rows.Len() > 0 {
			t.Fatal(err, rows.All())
		}
		if p.Progress().Sources[0].Done {
			t.Fatal("the source counts as ended")
		}
	}
}
