package nexmark_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

// Each query by the engine, and by hand, in turn within each iteration, so that what else the machine does hits both. Rows go
// to a function that adds them up. Under "memory" the events are made beforehand, so that the times are those of the
// queries alone; under "generated" both make them as they go, the engine beside the pipeline.

const (
	benchEvents = 500_000 // 50 s of event time, as much as to have a thousand auctions open, and 29 windows of Q5
	benchBatch  = 1000
)

// contest is one query in both forms: each runs a source to its end.
type contest struct {
	name   string
	engine func(b *testing.B, subtasks int, src engine.Source[nexmark.Event]) (rows int)
	byHand func(feed func(loop)) (rows int)
}

type stream = engine.Stream[nexmark.Event]

// race makes a contest of a query and its loop. Each run has a new clock; timed says whether the query wants it.
func race[T any](name string, timed bool, query func(stream, *hand) engine.Stream[T], byHand func(*hand, func(T)) loop) contest {
	return contest{
		name: name,
		engine: func(b *testing.B, subtasks int, src engine.Source[nexmark.Event]) int {
			var h hand
			var rows atomic.Int64
			cfg := engine.Config{Parallelism: subtasks}
			if timed {
				cfg.Clock = h.clock
			}
			g := engine.New(cfg)
			events := engine.EventTime(engine.From(g, src), nexmark.Event.Time, engine.Ascending())
			engine.ForEach(query(events, &h), func(engine.Context, T) error { rows.Add(1); return nil })
			p, err := g.Build()
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
			return int(rows.Load())
		},
		byHand: func(feed func(loop)) (rows int) {
			l := byHand(new(hand), func(T) { rows++ })
			feed(l)
			l.end()
			return rows
		},
	}
}

func contests() []contest {
	return []contest{
		race("q1", false, func(s stream, _ *hand) engine.Stream[nexmark.EuroBid] { return nexmark.Q1(s) },
			func(_ *hand, emit func(nexmark.EuroBid)) loop { return &loop1{emit} }),
		race("q2", false, func(s stream, _ *hand) engine.Stream[nexmark.AuctionPrice] { return nexmark.Q2(s) },
			func(_ *hand, emit func(nexmark.AuctionPrice)) loop { return &loop2{emit} }),
		race("q5", false, func(s stream, _ *hand) engine.Stream[nexmark.HotItem] { return nexmark.Q5(s) },
			func(_ *hand, emit func(nexmark.HotItem)) loop { return newLoop5(0, emit) }),
		race("q7", false, func(s stream, _ *hand) engine.Stream[nexmark.HighestBid] { return nexmark.Q7(s) },
			func(_ *hand, emit func(nexmark.HighestBid)) loop { return newLoop7(0, emit) }),
		race("q11", false, func(s stream, _ *hand) engine.Stream[nexmark.Activity] { return nexmark.Q11(s) },
			func(_ *hand, emit func(nexmark.Activity)) loop { return newLoop11(0, emit) }),
		race("q12", true, func(s stream, h *hand) engine.Stream[nexmark.Activity] {
			return nexmark.Q12(engine.Map(s, h.move))
		},
			func(h *hand, emit func(nexmark.Activity)) loop { return newLoop12(h, emit) }),
	}
}

func BenchmarkQueries(b *testing.B) {
	gen := generator(b, nexmark.Config{Events: benchEvents})
	events := take(gen, benchEvents)
	memory := engine.Slice(events)
	fromMemory := func(l loop) {
		for at := 0; at < benchEvents; at += benchBatch {
			l.add(events[at : at+benchBatch])
		}
	}
	batch := make([]nexmark.Event, benchBatch)
	generated := func(l loop) {
		for at := 0; at < benchEvents; at += benchBatch {
			for i := range batch {
				batch[i] = gen.Event(int64(at + i))
			}
			l.add(batch)
		}
	}
	for _, c := range contests() {
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/memory/procs=%d", c.name, procs), func(b *testing.B) { c.run(b, procs, 1, memory, fromMemory) })
			b.Run(fmt.Sprintf("%s/generated/procs=%d", c.name, procs), func(b *testing.B) { c.run(b, procs, 1, gen, generated) })
		}
		if c.name != "q12" { // there, the rows depend on when a subtask comes to a bid
			b.Run(c.name+"/memory/procs=2/subtasks=2", func(b *testing.B) { c.run(b, 2, 2, memory, fromMemory) })
		}
	}
}

// run reports both, and the engine as a share of the loop.
func (c contest) run(b *testing.B, procs, subtasks int, src engine.Source[nexmark.Event], feed func(loop)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var tLoop, tEngine time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		want := c.byHand(feed)
		middle := time.Now()
		got := c.engine(b, subtasks, src)
		tLoop, tEngine = tLoop+middle.Sub(start), tEngine+time.Since(middle)
		if got != want || got == 0 {
			b.Fatal(got, "rows, by hand", want)
		}
		n++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(benchEvents*n)/tEngine.Seconds(), "records/s")
	b.ReportMetric(float64(benchEvents*n)/tLoop.Seconds(), "loop-records/s")
	b.ReportMetric(tLoop.Seconds()/tEngine.Seconds(), "share-of-loop")
}

// BenchmarkGenerator is the cost of the events alone.
func BenchmarkGenerator(b *testing.B) {
	for _, disorder := range []int64{1, 1000} {
		b.Run(fmt.Sprintf("disorder=%d", disorder), func(b *testing.B) {
			gen := generator(b, nexmark.Config{Disorder: disorder})
			b.ReportAllocs()
			n, sum := int64(0), int64(0)
			for b.Loop() {
				e := gen.Event(n)
				sum += e.Time()
				n++
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
			if sum == 0 {
				b.Fatal("no times")
			}
		})
	}
}
