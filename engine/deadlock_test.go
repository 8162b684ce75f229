package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// In virtual time a deadlock is found at once: the clock stands still when nobody can go on, and the test fails.

// sleeping is a function that takes d for every record.
func sleeping(d time.Duration) touching {
	return func(engine.Context, int) error { time.Sleep(d); return nil }
}

// running runs p beside the test; the result says how it ended.
func running(ctx context.Context, p *engine.Pipeline) (wait func() error) {
	ended := make(chan error, 1) // from the run, once
	go func() { ended <- p.Run(ctx) }()
	return func() error { return <-ended }
}

var four = engine.Config{Parallelism: 4, Queue: 1, MaxParallelism: 16}

// Cuts from many goroutines, with functions that are slow at every place.
func TestManyCutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := build(t, spread(four, upTo(100), sleeping(3*ms), sleeping(2*ms), sleeping(5*ms)))
		wait := running(t.Context(), p)
		var wg sync.WaitGroup
		for id := range int64(8) {
			wg.Go(func() {
				for range 10 {
					if _, err := p.Cut(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// Full rings up to a source that holds its emission lock, and a cut in the middle of it: it waits for one record, not for space.
func TestACutWhileEverythingIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			c.EmissionLock().Lock()
			defer c.EmissionLock().Unlock()
			for range 60 {
				if err := c.Collect(0); err != nil { // all of one key: one subtask has everything
					return err
				}
			}
			return nil
		})
		p := build(t, spread(four, src, untouchedInt, untouchedInt, sleeping(time.Second)))
		wait := running(t.Context(), p)
		time.Sleep(5500 * time.Millisecond)
		start := time.Now()
		s := mustCut(t, p, 1)
		// A cut that finds a task inside a record looks again, so it may miss the end of one record by 1 ms for each subtask.
		if waited := time.Since(start); waited > time.Second || s.Waited != waited {
			t.Errorf("waited %v, says %v", waited, s.Waited)
		}
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// A cut from inside a record beside others: refused with the record's Context, bound by its own with another, and taken later
// when it is requested. So from a sink.
func TestCutsFromInsideARecordOfSeveral(t *testing.T) {
	for _, place := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var p *engine.Pipeline
			requested := make(chan *engine.Requested[*engine.Snapshot], 1) // from the one record; capacity 1
			touch := []touching{untouchedInt, untouchedInt, untouchedInt}
			touch[place] = func(c engine.Context, v int) error {
				if v != 50 {
					return nil
				}
				if _, err := p.Cut(c, 1); !errors.Is(err, engine.ErrInRecord) {
					t.Error(err)
				}
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := p.Cut(short, 2); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				requested <- p.Request(context.WithoutCancel(t.Context()), 3)
				return nil
			}
			p = build(t, spread(four, upTo(100), touch[0], touch[1], touch[2]))
			if err := p.Run(t.Context()); err != nil {
				t.Error(err)
			}
			s, err := (<-requested).Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			conserved(t, build(t, spread(four, upTo(100), untouchedInt, untouchedInt, untouchedInt)), encode(t, s))
		})
	}
}

// A function that waits for the end of a cut: the cut ends with its context, and the run goes on as if nothing had been.
func TestAFunctionThatWaitsForACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := make(chan struct{}) // closed when the cut has given up
		p := build(t, spread(four, upTo(100), untouchedInt, func(_ engine.Context, v int) error {
			if v == 50 {
				<-tried
			}
			return nil
		}, untouchedInt))
		wait := running(t.Context(), p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		synctest.Wait()
		start := time.Now()
		if _, err := p.Cut(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Error(err, time.Since(start))
		}
		close(tried)
		if err := wait(); err != nil {
			t.Error(err)
		}
		if n := p.Progress().RecordsOut; n != 100 {
			t.Error(n, "records came out")
		}
	})
}

// While one subtask is inside a record for long, a cut that waits for it does not hold up the others; it says how long it has
// waited, and one that gives up before has disturbed nothing.
func TestOthersGoOnWhileACutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var others atomic.Int64
		src := sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error {
			err := c.Collect(0) // the slow one
			for v := 1; v < 20_000 && err == nil; v++ {
				if v%8 != 0 {
					err = c.Collect(v)
				}
			}
			return err
		})
		p := build(t, spread(engine.Config{Parallelism: 4, Queue: 64, MaxParallelism: 16}, src, func(_ engine.Context, v int) error {
			if v == 0 {
				time.Sleep(time.Second)
				return nil
			}
			others.Add(1)
			time.Sleep(ms / 4)
			return nil
		}, untouchedInt, untouchedInt))
		wait := running(t.Context(), p)
		time.Sleep(10 * ms)
		short, cancel := context.WithTimeout(t.Context(), 200*ms)
		defer cancel()
		before, start := others.Load(), time.Now()
		if _, err := p.Cut(short, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 200*ms {
			t.Error(err, time.Since(start))
		}
		// At 0.25 ms a record, a subtask could do 800 in this time.
		if n := others.Load() - before; n < 600 {
			t.Errorf("others processed %d records while a cut waited that was given up", n)
		}
		before, start = others.Load(), time.Now()
		s := mustCut(t, p, 2)
		waited := time.Since(start)
		if n := others.Load() - before; s.Waited != waited || waited < 780*ms || waited > 900*ms || n < 1500 {
			t.Errorf("waited %v, says %v; others processed %d records meanwhile", waited, s.Waited, n)
		}
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// A cut may be asked for while the run ends: it is one from before or from after the end.
func TestACutRacesWithTheEnd(t *testing.T) {
	mirror := build(t, spread(four, upTo(20), untouchedInt, untouchedInt, untouchedInt))
	for range 60 {
		p := build(t, spread(four, upTo(20), untouchedInt, untouchedInt, untouchedInt))
		wait := running(t.Context(), p)
		var wg sync.WaitGroup
		for id := range int64(3) {
			wg.Go(func() {
				for range 20 {
					if _, err := p.Cut(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		s, err := p.Request(t.Context(), 4).Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if n := conserved(t, mirror, encode(t, s)); n > 0 {
			t.Errorf("%d records under way after the end", n)
		}
	}
}
