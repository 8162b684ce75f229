package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// failingEdges lists the functions of sources, sinks and timers, and the clock.
func failingEdges(dir string) []failingCase {
	const process, timer = "keyed process function failed", "keyed process timer callback failed"
	timers := func(set func(op *engine.Keyed[int], boom func(int) error) engine.TimerFunc[int, int]) func(*engine.Graph, func(int) error) {
		return func(g *engine.Graph, boom func(int) error) {
			discard(doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				timers := op.Timers()
				engine.OnTimer(op, set(op, boom))
				return func(v int, _ func(int)) error { timers.RegisterEventTime(int64(v)); return nil }
			}))
		}
	}
	return []failingCase{
		{"timer", "process-1", timer, 0, timers(func(_ *engine.Keyed[int], boom func(int) error) engine.TimerFunc[int, int] {
			return func(_ engine.Context, t engine.Timer[int], _ func(int)) error { return boom(int(t.Time)) }
		}), false},
		{"timer that has emitted", "process-1", timer, 0, timers(func(op *engine.Keyed[int], boom func(int) error) engine.TimerFunc[int, int] {
			out := engine.OutputTo(op, engine.NewSideOutput[int]("side"))
			return func(_ engine.Context, t engine.Timer[int], emit func(int)) error {
				emit(1)
				out(1)
				return boom(int(t.Time))
			}
		}), false},
		{"process that has sent to a side output", "process-1", process, 2, func(g *engine.Graph, boom func(int) error) {
			tag := engine.NewSideOutput[int]("side")
			s := doing(g, func(op *engine.Keyed[int]) func(int, func(int)) error {
				out := engine.OutputTo(op, tag)
				return func(v int, _ func(int)) error { out(v); return boom(v) }
			})
			discard(engine.Map(engine.Side(s, tag), same))
		}, false},
		{"clock while nothing comes", "clock", "clock failed", 0, func(g *engine.Graph, _ func(int) error) {
			silent := engine.From(g, sourceFunc[int](func(ctx context.Context, _ *engine.Collector[int]) error { <-ctx.Done(); return nil }))
			discard(engine.EventTime(silent, nil, engine.Ascending().WithIdleness(time.Hour)))
		}, true},
		{"source of a type of its own", "source-1", "source execution failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.From(g, sourceFunc[int](func(_ context.Context, c *engine.Collector[int]) error { return errors.Join(c.Collect(1), boom(2)) })))
		}, true},
		{"sequence", "source-1", "source execution failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.From(g, engine.Seq2(func(yield func(int, error) bool) { _ = yield(1, nil) && yield(2, boom(2)) })))
		}, true},
		{"generator", "source-1", "source execution failed", 2, func(g *engine.Graph, boom func(int) error) {
			discard(engine.From(g, engine.Throttle(engine.Generate(6, func(i int64) int { must(boom(int(i) + 1)); return 0 }), 1e6)))
		}, true},
		{"decoder of lines", "source-1", "source execution failed", 2, func(g *engine.Graph, boom func(int) error) {
			path := filepath.Join(dir, "lines")
			must(os.WriteFile(path, []byte("1\n\n2\n3\n"), 0o600))
			discard(engine.From(g, engine.JSONLines[int]{Path: path, Decode: func(line []byte, v *int) error {
				*v = int(line[0] - '0')
				return boom(*v)
			}}))
		}, true},
		{"sink", "sink-1", "sink invocation failed", 2, func(g *engine.Graph, boom func(int) error) {
			engine.ForEach(engine.Rebalance(six(g)), func(_ engine.Context, v int) error { return boom(v) })
		}, false},
		{"format of a file", "file-1", "sink invocation failed", 2, func(g *engine.Graph, boom func(int) error) {
			engine.ToFile(six(g), filepath.Join(dir, "out"), func(dst []byte, v int) ([]byte, error) { return dst, boom(v) })
		}, false},
		{"writer", "writer-1", "write lines", 0, func(g *engine.Graph, boom func(int) error) {
			engine.ToWriter(engine.Rebalance(six(g)), writerFunc(func(b []byte) (int, error) { return len(b), boom(2) }))
		}, true},
		{"format of files of transactions", "commit-1", "write", 0, func(g *engine.Graph, boom func(int) error) {
			engine.ToTwoPhase(engine.Rebalance(six(g)), &engine.TxnFiles[int]{Dir: dir, Name: "n", Format: func(dst []byte, v int) ([]byte, error) { return dst, boom(v) }})
		}, true},
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// watermarksThat fail, when they are shown a record or when they are asked.
func watermarksThat(boom func(int) error, shown bool) engine.Strategy {
	return engine.Strategy{New: func() engine.Generator { return &boomingMarks{boom: boom, shown: shown, at: engine.MinWatermark} }}
}

type boomingMarks struct {
	boom  func(int) error
	shown bool
	at    int64
}

func (m *boomingMarks) Observe(ts int64) {
	if m.at = ts; m.shown {
		must(m.boom(int(ts)))
	}
}

func (m *boomingMarks) Current() int64 {
	if !m.shown {
		must(m.boom(int(m.at)))
	}
	return m.at
}

func (m *boomingMarks) Resume(int64) {}
