package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// Asked for in a record beside others, a cut and a checkpoint are taken when it has ended; with one subtask at once.
func TestRequestsFromInsideARecord(t *testing.T) {
	for _, parallelism := range []int{1, 3} {
		var p *engine.Pipeline
		var c *engine.Checkpoints
		var cut *engine.Requested[*engine.Snapshot]
		var checkpoint *engine.Requested[int64]
		var refused error
		p = build(t, parallelGraph(1000, parallelism, &engine.Rows[string]{}, func(ctx engine.Context, r numbered) error {
			if r.N != 500 {
				return nil
			}
			cut, checkpoint = p.Request(ctx, 7), c.Request(ctx)
			short, cancel := context.WithTimeout(ctx, time.Microsecond)
			defer cancel()
			if _, err := cut.Wait(short); (err == nil) != (parallelism == 1) {
				t.Errorf("parallelism %d, inside the record: %v", parallelism, err)
			}
			_, refused = c.Trigger(ctx)
			return nil
		}))
		c = p.EnableCheckpoints(0)
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if (refused != nil) != (parallelism > 1) || refused != nil && !errors.Is(refused, engine.ErrInRecord) {
			t.Errorf("parallelism %d: trigger: %v", parallelism, refused)
		}
		s, err := cut.Wait(t.Context())
		id, err2 := checkpoint.Wait(t.Context())
		if err = errors.Join(err, err2); err != nil || s.ID != 7 || id != 1 {
			t.Fatal(s, id, err)
		}
		latest, _ := c.Get(id)
		for _, s := range []*engine.Snapshot{s, latest} {
			again := build(t, parallelGraph(1000, parallelism, &engine.Rows[string]{}, untouched))
			if err := again.Restore(t.Context(), encode(t, s), engine.Fresh); err != nil {
				t.Error(err)
			}
		}
	}
}

// From outside a request waits like a cut, and ends with its context.
func TestARequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairs(t, []int{1}, func(engine.Context, int) error { time.Sleep(time.Second); return nil })
		ended := make(chan error, 1) // from Run, once
		go func() { ended <- p.Run(t.Context()) }()
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		given, kept := p.Request(ctx, 1), p.Request(t.Context(), 2)
		cancel()
		if _, err := given.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if s, err := kept.Wait(t.Context()); err != nil || s.ID != 2 || time.Now().Nanosecond() != 0 {
			t.Error(s, err, time.Now())
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A panic of a snapshot function is the request's error.
func TestAPanicOfASnapshotFunctionIsTheRequestsError(t *testing.T) {
	g := engine.New(engine.Config{})
	pairsGraph(g, nil, nil)
	engine.RegisterSnapshotSource(g, "x", func() ([]byte, error) { panic(errBoom) }, func([]byte) error { return nil })
	p := build(t, g)
	if _, err := p.Request(t.Context(), 1).Wait(t.Context()); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	if _, err := p.States(t.Context()); err != nil { // the locks are free
		t.Error(err)
	}
}
