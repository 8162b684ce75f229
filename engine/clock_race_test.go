package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tidemark-stream/tidemark/engine"
)

// While nothing comes, a task looks at when its next timer is due; cuts at the same moment do not see it half looked at. Only the
// race detector can tell.
func TestTimersThatWaitForTheClockAreCut(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		var rows engine.Rows[int]
		cut := make(chan struct{}) // closed when timers have fired
		g := engine.New(engine.Config{Parallelism: parallelism, Clock: engine.SystemTime})
		src := sourceFunc[event](func(_ context.Context, c *engine.Collector[event]) error {
			for i := range 50 {
				if err := c.Collect(event{string(rune('a' + i%7)), int64(i), 0}); err != nil {
					return err
				}
			}
			<-cut
			return nil
		})
		k := engine.KeyBy(engine.From(g, src), func(e event) string { return e.Key })
		out := engine.Process(k, func(op *engine.Keyed[string]) engine.ProcessFunc[string, event, int] {
			timers := op.Timers()
			engine.OnTimer(op, func(_ engine.Context, t engine.Timer[string], emit func(int)) error {
				timers.RegisterProcessingTime(t.Time + 1)
				timers.RegisterProcessingTime(t.Time + 2)
				timers.DeleteProcessingTime(t.Time + 2)
				emit(1)
				return nil
			})
			return func(engine.Context, string, event, func(int)) error {
				timers.RegisterProcessingTime(timers.ProcessingTime() + 1)
				return nil
			}
		})
		engine.ToRows(out, &rows)
		p := build(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(cut)
			for rows.Len() < 50 {
				mustCut(t, p, 1)
			}
		})
		if err := p.Run(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}
