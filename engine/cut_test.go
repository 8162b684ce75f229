package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// twoStores writes the number of the record to two values and calls between in the middle.
func twoStores(s engine.Stream[int], between func(c engine.Context, v int) error) engine.Stream[int] {
	keyed := engine.KeyBy(s, func(int) string { return "k" })
	return engine.Process(keyed, func(op *engine.Keyed[string]) engine.ProcessFunc[string, int, int] {
		a, b := engine.ValueOf[int](op, "a"), engine.ValueOf[int](op, "b")
		return func(c engine.Context, _ string, v int, emit func(int)) error {
			a.Put(v)
			if err := between(c, v); err != nil {
				return err
			}
			b.Put(v)
			emit(v)
			return nil
		}
	})
}

// mirror restores a cut into a fresh pipeline of the graph and gives its lines by item, without their group number.
func mirror(t *testing.T, items map[string][]byte, graph func(g *engine.Graph)) map[string][]engine.Entry {
	t.Helper()
	g := engine.New(engine.Config{})
	graph(g)
	p := build(t, g)
	if err := p.Restore(t.Context(), items, engine.Fresh); err != nil {
		t.Fatal(err)
	}
	m := make(map[string][]engine.Entry)
	for e := range p.Mirror() {
		e.Item, _, _ = strings.Cut(e.Item, "/")
		m[e.Item] = append(m[e.Item], e)
	}
	return m
}

// content is the text of the only entry, or "" if there is none.
func content(entries []engine.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	return entries[0].Content
}

// Cuts from other goroutines, at random moments: the two stores are equal in each, and so are positions and rows.
func TestEachCutIsOneCutOverAllStores(t *testing.T) {
	const n = 10_000
	var rows engine.Rows[int]
	var taken atomic.Int64
	graph := func(g *engine.Graph) {
		engine.ToRows(twoStores(engine.From(g, sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
			for i := 1; i <= n; i++ {
				for before := taken.Load(); i%100 == 0 && taken.Load() == before && ctx.Err() == nil; {
					runtime.Gosched() // until one cut more has been taken
				}
				if err := c.Collect(i); err != nil {
					return err
				}
			}
			return nil
		})), func(engine.Context, int) error { return nil }), &rows)
	}
	g := engine.New(engine.Config{Queue: 16})
	graph(g)
	p := build(t, g)
	done := make(chan struct{})
	var mu sync.Mutex
	var cuts []*engine.Snapshot
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for id := int64(0); ; id++ {
				s, err := p.Cut(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				mu.Lock()
				if len(cuts) < 200 && p.Progress().RecordsIn > 0 {
					cuts = append(cuts, s)
				}
				mu.Unlock()
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
	inside := 0
	kept := rows.All()
	for _, s := range cuts {
		m := mirror(t, encode(t, s), graph)
		a, b := content(m["store-1.a"]), content(m["store-1.b"])
		if a != b {
			t.Fatalf("stores differ: %s and %s", a, b)
		}
		if a != "" {
			inside++
			if src, r := content(m["source-1"]), content(m["rows-1"]); !strings.HasPrefix(src, "records "+a+",") || r != a+" rows" {
				t.Fatalf("value %s, source %q, rows %q", a, src, r)
			}
		}
	}
	if inside == 0 || len(kept) != n {
		t.Errorf("%d cuts inside the run, %d rows", inside, len(kept))
	}
}

// A cut asked for while a record is in work waits for it, and holds all that it has written.
func TestCutWaitsForTheRecordInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		graph := func(g *engine.Graph) {
			var rows engine.Rows[int]
			engine.ToRows(twoStores(engine.From(g, engine.Slice([]int{7})), func(engine.Context, int) error {
				time.Sleep(50 * time.Millisecond)
				return nil
			}), &rows)
		}
		g := engine.New(engine.Config{})
		graph(g)
		p := build(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.Cut(short, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Millisecond {
			t.Error("a cut waited longer than its context:", err, time.Since(start))
		}
		s := mustCut(t, p, 2)
		if waited := time.Since(start); waited != 30*time.Millisecond {
			t.Error("waited", waited)
		}
		wg.Wait()
		m := mirror(t, encode(t, s), graph)
		if a, b := content(m["store-1.a"]), content(m["store-1.b"]); a != "7" || b != "7" {
			t.Errorf("a %q, b %q", a, b)
		}
	})
}

// A cut by the record's own function, through its context, is taken at once and sees the writes so far; a stale context and
// a foreign goroutine wait.
func TestCutFromInsideARecord(t *testing.T) {
	var p *engine.Pipeline
	var inside *engine.Snapshot
	var stale engine.Context
	var wg sync.WaitGroup
	other := make(chan *engine.Snapshot, 1) // from the goroutine below, which does not close it; capacity 1, one cut
	graph := func(between func(engine.Context, int) error) func(g *engine.Graph) {
		return func(g *engine.Graph) {
			var rows engine.Rows[int]
			engine.ToRows(twoStores(engine.From(g, engine.Slice([]int{1, 2})), between), &rows)
		}
	}
	g := engine.New(engine.Config{})
	graph(func(c engine.Context, v int) error {
		if v == 1 {
			stale = c
			return nil
		}
		wg.Go(func() {
			s, err := p.Cut(t.Context(), 2)
			if err != nil {
				t.Error(err)
			}
			other <- s
		})
		ctx, cancel := context.WithTimeout(c, time.Minute) // derived contexts carry it too
		defer cancel()
		var err error
		if inside, err = p.Cut(ctx, 1); err != nil {
			return err
		}
		if err := p.Restore(c, nil, engine.Fresh); !errors.Is(err, engine.ErrStarted) {
			t.Error("restore from inside a record:", err)
		}
		old, cancel := context.WithTimeout(stale, time.Millisecond)
		defer cancel()
		if _, err := p.Cut(old, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("a stale context was taken for the fence:", err)
		}
		return nil
	})(g)
	p = build(t, g)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	plain := graph(nil)
	m := mirror(t, encode(t, inside), plain)
	if a, b, pos := content(m["store-1.a"]), content(m["store-1.b"]), content(m["source-1"]); a != "2" || b != "1" || pos != "records 1, offset 1, done false" {
		t.Errorf("inside: a %q, b %q, %s", a, b, pos)
	}
	m = mirror(t, encode(t, <-other), plain)
	if a, b := content(m["store-1.a"]), content(m["store-1.b"]); a != "2" || b != "2" {
		t.Errorf("from another goroutine: a %q, b %q", a, b)
	}
}

// Neither a blocked source nor a full queue under the emission lock holds up a cut.
func TestBlockedSourceDoesNotHoldUpACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows engine.Rows[int]
		g := engine.New(engine.Config{Queue: 2})
		src := engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			time.Sleep(10 * time.Second)
			for i := range 100 {
				c.EmissionLock().Lock()
				err := c.Collect(i)
				c.EmissionLock().Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		}))
		slow := engine.Map(src, func(v int) int { time.Sleep(time.Second); return v })
		engine.ToRows(slow, &rows)
		p := build(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for _, c := range []struct{ at, wait time.Duration }{
			{5 * time.Second, 0},                        // the source is blocked
			{15500 * time.Millisecond, time.Second / 2}, // the queue is full, a record is in work until 16 s
		} {
			time.Sleep(c.at - time.Duration(time.Now().UnixNano()%int64(time.Hour)))
			start := time.Now()
			mustCut(t, p, 1)
			if got := time.Since(start); got != c.wait {
				t.Errorf("at %v the cut waited %v", c.at, got)
			}
		}
		wg.Wait()
		if rows.Len() != 100 {
			t.Error(rows.Len())
		}
	})
}

// The graph is cuttable before the first record, and after the end; not after an error inside a record.
func TestCutBeforeAndAfterTheRun(t *testing.T) {
	var rows engine.Rows[int]
	graph := func(fail bool) func(g *engine.Graph) {
		return func(g *engine.Graph) {
			engine.ToRows(twoStores(engine.From(g, engine.Slice([]int{1, 2})), func(_ engine.Context, v int) error {
				if fail && v == 2 {
					return errBoom
				}
				return nil
			}), &rows)
		}
	}
	g := engine.New(engine.Config{})
	graph(false)(g)
	p := build(t, g)
	before := encode(t, mustCut(t, p, 1))
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := encode(t, mustCut(t, p, 2))
	if m := mirror(t, before, graph(false)); content(m["source-1"]) != "records 0, offset 0, done false" || len(m["store-1.a"]) > 0 {
		t.Error(m)
	}
	if m := mirror(t, after, graph(false)); content(m["source-1"]) != "records 2, offset 2, done true" || content(m["store-1.a"]) != "2" {
		t.Error(m)
	}
	g = engine.New(engine.Config{})
	graph(true)(g)
	p = build(t, g)
	if err := p.Run(t.Context()); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	if _, err := p.Cut(t.Context(), 3); !errors.Is(err, engine.ErrFailed) {
		t.Error("half a record was cut:", err)
	}
}

// What a window holds is in the cut: key, bounds, last timestamp, content; raw elements as a copy.
func TestWindowBucketsAreInTheCut(t *testing.T) {
	hold := make(chan struct{})
	graph := func(g *engine.Graph) {
		src := engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			err := errors.Join(c.CollectAt(1, 10), c.CollectAt(2, 20))
			<-hold
			return err
		}))
		w := engine.Window(engine.KeyBy(src, func(int) string { return "k" }), window.Tumbling(100*time.Millisecond))
		var sums engine.Rows[engine.Result[string, int]]
		var raw engine.Rows[int]
		engine.ToRows(engine.ReduceWindow(w, func(a, b int) int { return a + b }), &sums)
		engine.ToRows(engine.ApplyWindow(w, func(_ engine.Context, _ string, _ window.Window, e []int, emit func(int)) error {
			emit(len(e))
			return nil
		}), &raw)
	}
	g := engine.New(engine.Config{})
	graph(g)
	p := build(t, g)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for p.Progress().RecordsIn < 2 {
		mustCut(t, p, 0) // a cut makes the pipeline publish
	}
	items := encode(t, mustCut(t, p, 1))
	close(hold)
	wg.Wait()
	m := mirror(t, items, graph)
	bounds := window.Window{Start: 0, End: 100}
	want := []engine.Entry{{Item: "window-1", Key: "k", Window: bounds, Last: 20, Content: "{true 3}"}}
	if d := cmp.Diff(want, m["window-1"]); d != "" {
		t.Error(d)
	}
	want = []engine.Entry{{Item: "window-2", Key: "k", Window: bounds, Last: 20, Content: "[1 2]"}}
	if d := cmp.Diff(want, m["window-2"]); d != "" {
		t.Error(d)
	}
}

func TestRegisteredSnapshotSources(t *testing.T) {
	var live, restored string
	var failing error
	graph := func(g *engine.Graph) {
		var rows engine.Rows[int]
		engine.ToRows(engine.From(g, engine.Slice([]int{1})), &rows)
		engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { return []byte(live), failing }, func(b []byte) error {
			restored = string(b)
			return failing
		})
	}
	g := engine.New(engine.Config{})
	graph(g)
	p := build(t, g)
	live = "state"
	s := mustCut(t, p, 1)
	live = "later"
	items := encode(t, s)
	if got := string(items["x"]); got != "state" {
		t.Error(got)
	}
	mirror(t, items, graph)
	if restored != "state" {
		t.Error(restored)
	}
	failing = errBoom
	if _, err := p.Cut(t.Context(), 2); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "cut 2: x:") {
		t.Error("a failing snapshot function:", err)
	}
	if err := p.Restore(t.Context(), items, engine.Fresh); !errors.Is(err, errBoom) {
		t.Error("a failing restore function:", err)
	}
	for _, name := range []string{"x", "source-1", "", "a/b"} {
		g := engine.New(engine.Config{})
		graph(g)
		engine.RegisterSnapshotSource(g, name, func() ([]byte, error) { return nil, nil }, func([]byte) error { return nil })
		if _, err := g.Build(); !errors.Is(err, engine.ErrName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}
