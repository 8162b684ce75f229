package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
)

// pairs is a pipeline of two stores, "store-1.a" and "store-1.b" of the key "k", over records in; between is called in the
// middle of each.
func pairs(t *testing.T, in []int, between func(c engine.Context, v int) error) *engine.Pipeline {
	t.Helper()
	g := engine.New(engine.Config{Queue: 16})
	pairsGraph(g, in, between)
	return build(t, g)
}

func pairsGraph(g *engine.Graph, in []int, between func(c engine.Context, v int) error) {
	if between == nil {
		between = func(engine.Context, int) error { return nil }
	}
	engine.ToRows(twoStores(engine.From(g, engine.Slice(in)), between), &engine.Rows[int]{})
}

// pairOf reads both stores out of a checkpoint.
func pairOf(t *testing.T, s *engine.Snapshot) [2]string {
	t.Helper()
	m := mirror(t, encode(t, s), func(g *engine.Graph) { pairsGraph(g, nil, nil) })
	return [2]string{content(m["store-1.a"]), content(m["store-1.b"])}
}

func mustTrigger(t *testing.T, c *engine.Checkpoints) int64 {
	t.Helper()
	id, err := c.Trigger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func numbersTo(n int) []int {
	in := make([]int, n)
	for i := range in {
		in[i] = i + 1
	}
	return in
}

func TestCheckpointsAreEnabledOnce(t *testing.T) {
	p := pairs(t, nil, nil)
	if p.Checkpoints() != nil {
		t.Error("there are checkpoints that nobody has enabled")
	}
	c := p.EnableCheckpoints(3)
	if again := p.EnableCheckpoints(9); again != c || p.Checkpoints() != c {
		t.Error("another one when enabled again")
	}
	for range 5 {
		mustTrigger(t, c)
	}
	if got := c.IDs(); !slices.Equal(got, []int64{3, 4, 5}) {
		t.Error("kept are", got)
	}
	if c := pairs(t, nil, nil).EnableCheckpoints(0); true {
		for range 7 {
			mustTrigger(t, c)
		}
		if got := c.IDs(); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
			t.Error("kept are", got)
		}
	}
}

func TestACheckpointIsCompletedWhenTriggerReturns(t *testing.T) {
	p := pairs(t, []int{7}, nil)
	c := p.EnableCheckpoints(0)
	if _, ok := c.Latest(); ok {
		t.Error("a latest before the first")
	}
	for want := int64(1); want <= 3; want++ {
		id := mustTrigger(t, c)
		latest, ok := c.Latest()
		if id != want || !ok || latest.ID != want {
			t.Error(id, latest, ok)
		}
		if want == 1 {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, ok := c.Get(999); ok {
		t.Error("checkpoint 999")
	}
	for id, want := range map[int64][2]string{1: {"", ""}, 2: {"7", "7"}} { // empty stores are valid
		s, ok := c.Get(id)
		if !ok || s.ID != id || pairOf(t, s) != want {
			t.Error(id, ok, pairOf(t, s))
		}
	}
}

func TestAPipelineWithoutStoresHasCheckpoints(t *testing.T) {
	g := engine.New(engine.Config{})
	engine.ToRows(engine.From(g, engine.Slice([]int{1})), &engine.Rows[int]{})
	c := build(t, g).EnableCheckpoints(0)
	if id := mustTrigger(t, c); id != 1 || len(c.Stores()) > 0 {
		t.Error(id, c.Stores())
	}
}

func TestWhatACheckpointGivesAwayIsACopy(t *testing.T) {
	c := pairs(t, nil, nil).EnableCheckpoints(0)
	mustTrigger(t, c)
	names := c.Stores()
	if want := []string{"store-1.a", "store-1.b"}; !slices.Equal(names, want) {
		t.Error(names)
	}
	s, _ := c.Latest()
	if !slices.ContainsFunc(s.Items, func(i engine.Item) bool { return i.Name == "store-1.a" }) {
		t.Error("store-1.a is not in the checkpoint:", s.Items)
	}
	names[0], s.ID, s.Items[0].Name, c.IDs()[0] = "x", 9, "x", 9
	clear(s.Items)
	if again, ok := c.Get(1); !ok || again.ID != 1 || again.Items[0].Name == "x" || c.Stores()[0] != "store-1.a" || c.IDs()[0] != 1 {
		t.Error("changed from outside")
	}
}

// Checkpoints from other goroutines, at random moments of the run: both stores are equal in each, ids are in the order of cuts.
func TestEachCheckpointIsOneCut(t *testing.T) {
	p := pairs(t, numbersTo(10_000), nil)
	c := p.EnableCheckpoints(1000)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 300 {
				if _, err := c.Trigger(t.Context()); err != nil {
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
	before := ""
	for _, id := range c.IDs() {
		s, _ := c.Get(id)
		pair := pairOf(t, s)
		if pair[0] != pair[1] || len(pair[0]) < len(before) || len(pair[0]) == len(before) && pair[0] < before {
			t.Fatalf("checkpoint %d has %v, the one before %q", id, pair, before)
		}
		before = pair[0]
	}
}

// A record that sleeps between its two writes: a checkpoint waits for it, and ends with its context if that is too long.
func TestACheckpointWaitsForTheRecordInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairs(t, []int{7}, func(engine.Context, int) error { time.Sleep(50 * time.Millisecond); return nil })
		c := p.EnableCheckpoints(0)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(20 * time.Millisecond)
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := c.Trigger(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		start := time.Now()
		if id := mustTrigger(t, c); id != 1 || time.Since(start) != 20*time.Millisecond {
			t.Error(id, time.Since(start))
		}
		if s, _ := c.Latest(); pairOf(t, s) != [2]string{"7", "7"} {
			t.Error(pairOf(t, s))
		}
		wg.Wait()
	})
}

// A source that triggers itself, under its emission lock, while the queue is full.
func TestASourceMayTriggerUnderItsEmissionLock(t *testing.T) {
	var c *engine.Checkpoints
	g := engine.New(engine.Config{Queue: 2})
	src := engine.From(g, sourceFunc[int](func(ctx context.Context, out *engine.Collector[int]) error {
		for i := range 100 {
			out.EmissionLock().Lock()
			err := out.Collect(i)
			if _, triggered := c.Trigger(ctx); err == nil {
				err = triggered
			}
			if restored := c.Restore(ctx, c.IDs()[0]); err == nil {
				err = restored
			}
			out.EmissionLock().Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	}))
	engine.ToRows(twoStores(src, func(engine.Context, int) error { return nil }), &engine.Rows[int]{})
	p := build(t, g)
	c = p.EnableCheckpoints(0)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids := c.IDs(); ids[len(ids)-1] != 100 {
		t.Error(ids)
	}
}

// A part that cannot be cut: no checkpoint, the one before stays the latest, and the id is used up.
func TestAFailingSnapshotFunctionFailsTheCheckpoint(t *testing.T) {
	var failing error
	g := engine.New(engine.Config{})
	pairsGraph(g, nil, nil)
	engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { return []byte("x"), failing }, func([]byte) error { return nil })
	c := build(t, g).EnableCheckpoints(0)
	mustTrigger(t, c)
	failing = errBoom
	if id, err := c.Trigger(t.Context()); id != 0 || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "checkpoint 2: x: boom") {
		t.Error(id, err)
	}
	if latest, _ := c.Latest(); latest.ID != 1 || !slices.Equal(c.IDs(), []int64{1}) {
		t.Error("half a checkpoint can be seen:", c.IDs())
	}
	failing = nil
	if id := mustTrigger(t, c); id != 3 {
		t.Error(id)
	}
}

// A run that has failed inside a record has nothing to take a checkpoint of.
func TestNoCheckpointOfHalfARecord(t *testing.T) {
	p := pairs(t, []int{1, 2}, func(_ engine.Context, v int) error {
		if v == 2 {
			return errBoom
		}
		return nil
	})
	c := p.EnableCheckpoints(0)
	mustTrigger(t, c)
	if err := p.Run(t.Context()); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	if _, err := c.Trigger(t.Context()); !errors.Is(err, engine.ErrFailed) {
		t.Error(err)
	}
	if err := c.Restore(t.Context(), 1); !errors.Is(err, engine.ErrFailed) {
		t.Error(err)
	}
}

// The sinks commit what a checkpoint covers: the file is there once one has been taken after the end.
func TestSinksCommitWithACheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	p := numbers(t, path, 3, 0)
	c := p.EnableCheckpoints(0)
	mustTrigger(t, c)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("committed before a checkpoint:", err)
	}
	mustTrigger(t, c)
	if b, err := os.ReadFile(path); err != nil || strings.Count(string(b), "\n") != 3 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestCheckpointsByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pairs(t, nil, nil).EnableCheckpoints(0)
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		if err := c.Run(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := cmp.Diff([]int64{1, 2, 3}, c.IDs()); d != "" {
			t.Error(d)
		}
		if err := c.Run(t.Context(), 0); !errors.Is(err, engine.ErrInvalid) {
			t.Error(err)
		}
	})
}
