package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// A run ends wherever its goroutines are blocked: each of these is cancelled after 10 s, and nothing is left over.
func TestARunIsCancelledWhereverItIsBlocked(t *testing.T) {
	never := func(ctx engine.Context, _ int) error { <-ctx.Done(); return nil }
	quiet := sourceFunc[int](func(ctx context.Context, c *engine.Collector[int]) error {
		err := c.Collect(1)
		<-ctx.Done()
		return err
	})
	one := sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
		for range 10_000 {
			if err := c.Collect(0); err != nil {
				return err
			}
		}
		return nil
	})
	for name, g := range map[string]*engine.Graph{
		"in the source":                      spread(four, quiet, untouchedInt, untouchedInt, untouchedInt),
		"in a record, all before it is full": spread(four, one, untouchedInt, untouchedInt, never),
		"in the first place":                 spread(four, upTo(1000), never, untouchedInt, untouchedInt),
		"in the second":                      spread(four, upTo(1000), untouchedInt, never, untouchedInt),
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errBoom)
			defer cancel()
			p := build(t, g)
			start := time.Now()
			if err := p.Run(ctx); !errors.Is(err, errBoom) || time.Since(start) != 10*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
			// All records are whole, so there is a cut.
			mirror := build(t, spread(four, upTo(1000), untouchedInt, untouchedInt, untouchedInt))
			if cut := encode(t, mustCut(t, p, 1)); name != "in a record, all before it is full" && name != "in the source" {
				conserved(t, mirror, cut)
			}
		})
	}
}

// The locks are held by a cut whose snapshot function is stuck: cancelling ends the run all the same.
func TestARunIsCancelledDuringACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := spread(four, upTo(1000), sleeping(ms), untouchedInt, untouchedInt)
		engine.RegisterSnapshotSource(g, "stuck", func() ([]byte, error) {
			time.Sleep(time.Hour)
			return nil, nil
		}, func([]byte) error { return nil })
		p := build(t, g)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBoom)
		defer cancel()
		wait := running(ctx, p)
		time.Sleep(20 * ms)
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { mustCut(t, p, 1) })
		if err := wait(); !errors.Is(err, errBoom) || time.Since(start) > time.Minute {
			t.Error(err, time.Since(start))
		}
		wg.Wait()
	})
}

// One subtask fails while others are blocked: in front of it, since it takes nothing any more, and behind it, in a record.
func TestOneSubtaskFailsWhileOthersAreBlocked(t *testing.T) {
	for at := range 3 {
		synctest.Test(t, func(t *testing.T) {
			touch := []touching{untouchedInt, untouchedInt, func(c engine.Context, v int) error {
				if v%5 == 1 {
					<-c.Done()
				}
				return nil
			}}
			before := touch[at]
			touch[at] = func(c engine.Context, v int) error {
				if v == 400 {
					return errBoom
				}
				return before(c, v)
			}
			var failed *engine.OperatorError
			p := build(t, spread(four, upTo(10_000), touch[0], touch[1], touch[2]))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // if the others hold up the one that is to fail
			defer cancel()
			err := p.Run(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				return
			}
			if !errors.As(err, &failed) || !errors.Is(err, errBoom) || failed.Record != 401 {
				t.Error(at, err)
			}
			if _, err := p.Cut(t.Context(), 1); !errors.Is(err, engine.ErrFailed) {
				t.Error(err)
			}
		})
	}
}

// Cuts and restores at once, before a run that begins meanwhile: whoever comes after its begin is refused.
func TestRestoresBesideCutsAndARun(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		cfg := four
		cfg.Parallelism = parallelism
		whole := build(t, spread(cfg, upTo(50), untouchedInt, untouchedInt, untouchedInt))
		cut := encode(t, mustCut(t, whole, 1))
		for range 30 {
			p := build(t, spread(four, upTo(50), untouchedInt, untouchedInt, untouchedInt))
			var wg sync.WaitGroup
			for id := range int64(3) {
				wg.Go(func() {
					for range 4 {
						if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil && !errors.Is(err, engine.ErrStarted) {
							t.Error(err)
						}
						mustCut(t, p, id)
						p.Progress()
					}
				})
			}
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if n := p.Progress().RecordsOut; n != 50 {
				t.Error(n, "records came out")
			}
		}
	}
}

// What was under way is processed before a run goes on with another number of subtasks: a cut waits for the end of that, no longer
// than its context; and so does the run.
func TestACutWhileARunSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*ms, errBoom)
		defer cancel()
		first := build(t, spread(engine.Config{Parallelism: 3, Queue: 64, MaxParallelism: 16}, upTo(1000), untouchedInt, untouchedInt, sleeping(10*ms)))
		if err := first.Run(ctx); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		cut := encode(t, mustCut(t, first, 1))
		graph := func(sink touching) *engine.Pipeline {
			return build(t, spread(engine.Config{Parallelism: 2, Queue: 64, MaxParallelism: 16}, upTo(1000), untouchedInt, untouchedInt, sink))
		}
		mirror := build(t, spread(engine.Config{Parallelism: 3, Queue: 64, MaxParallelism: 16}, upTo(1000), untouchedInt, untouchedInt, untouchedInt))
		under := conserved(t, mirror, cut)
		if under < 100 {
			t.Fatal("only", under, "under way")
		}
		p := graph(sleeping(time.Second))
		if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil {
			t.Fatal(err)
		}
		run, stop := context.WithTimeoutCause(t.Context(), time.Duration(under+50)*time.Second, errBoom)
		defer stop()
		wait := running(run, p)
		synctest.Wait() // it is in the first record under way
		short, end := context.WithTimeout(t.Context(), 3*time.Second)
		defer end()
		if _, err := p.Cut(short, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		start := time.Now()
		s := mustCut(t, p, 3)
		if waited := time.Since(start); waited < time.Duration(under-10)*time.Second {
			t.Errorf("waited %v for %d records", waited, under)
		}
		settled := encode(t, s)
		which := mirror
		if fmt.Sprint(settled["parallelism"]) == "[80 1 2]" {
			which = graph(untouchedInt)
		}
		conserved(t, which, settled)
		if err := wait(); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		// Cancelled in the middle of it, it has lost nothing either.
		p = graph(sleeping(time.Second))
		half, stop := context.WithTimeoutCause(t.Context(), time.Duration(under/2)*time.Second, errBoom)
		defer stop()
		if err := p.Restore(t.Context(), cut, engine.Adopt); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(half); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		if left := conserved(t, mirror, encode(t, mustCut(t, p, 4))); left == 0 || left >= under {
			t.Errorf("%d of %d left", left, under)
		}
	})
}
