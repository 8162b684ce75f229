package nexmark_test

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/nexmark"
	"github.com/tidemark-stream/tidemark/engine/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func generator(tb testing.TB, cfg nexmark.Config) *nexmark.Generator {
	gen, err := nexmark.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return gen
}

func take(gen *nexmark.Generator, n int) []nexmark.Event {
	events := make([]nexmark.Event, n)
	for i := range events {
		events[i] = gen.Event(int64(i))
	}
	return events
}

// hand is a clock that events move: it shows the latest time of any that has come by. Any goroutine may look at it.
type hand struct{ now atomic.Int64 }

func (h *hand) clock() int64 { return h.now.Load() }

func (h *hand) move(e nexmark.Event) nexmark.Event {
	if e.Time() > h.now.Load() {
		h.now.Store(e.Time())
	}
	return e
}

// build makes the pipeline of a query, and gives its rows.
func build[T any](t *testing.T, cfg engine.Config, s func(*engine.Graph) engine.Stream[T], rows *engine.Rows[T]) *engine.Pipeline {
	t.Helper()
	g := engine.New(cfg)
	engine.ToRows(s(g), rows)
	p, err := g.Build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// on is a query on the events of a generator.
func on[T any](gen *nexmark.Generator, q func(stream) engine.Stream[T]) func(*engine.Graph) engine.Stream[T] {
	return func(g *engine.Graph) engine.Stream[T] { return q(nexmark.Events(g, gen)) }
}

// rowsOf runs a query; nothing may be late.
func rowsOf[T any](t *testing.T, cfg engine.Config, s func(*engine.Graph) engine.Stream[T]) []T {
	t.Helper()
	var rows engine.Rows[T]
	p := build(t, cfg, s, &rows)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late := p.Progress().LateDropped; late != 0 {
		t.Error(late, "records late")
	}
	return rows.All()
}

// same compares the rows of the engine and of the loop with those wanted, in any order.
func same[T comparable](
	t *testing.T, want []T, cfg engine.Config, s func(*engine.Graph) engine.Stream[T],
	events []nexmark.Event, l func(emit func(T)) loop,
) {
	t.Helper()
	if d := difference(want, rowsOf(t, cfg, s)); len(d) > 0 {
		t.Error("engine, rows too many or (below 0) too few:", d)
	}
	var byHand []T
	hand := l(func(v T) { byHand = append(byHand, v) })
	for batch := range slices.Chunk(events, 1000) {
		hand.add(batch)
	}
	hand.end()
	if d := difference(want, byHand); len(d) > 0 {
		t.Error("loop, rows too many or (below 0) too few:", d)
	}
	if len(want) < 3 {
		t.Error("only", len(want), "rows, which prove little")
	}
}

// difference is how many more of each row there are in got than in want.
func difference[T comparable](want, got []T) map[T]int {
	n := make(map[T]int, len(want))
	for _, r := range got {
		n[r]++
	}
	for _, r := range want {
		n[r]--
	}
	maps.DeleteFunc(n, func(_ T, n int) bool { return n == 0 })
	return n
}

// Engine, loop and definition agree on 200 000 events: with windows of many events and of few, in order and out of order by
// more than the slide of Q5.
func TestQueries(t *testing.T) {
	const n = 200_000
	for name, cfg := range map[string]nexmark.Config{
		"in order":                    {Events: n, Delay: time.Millisecond},
		"many events in a window":     {Events: n, Delay: 150 * time.Microsecond},
		"slow, with sparse bidders":   {Events: n, Delay: 7 * time.Millisecond, HotBidders: 1, Seed: 1},
		"out of order by 3 s":         {Events: n, Delay: time.Millisecond, Disorder: 3000, Seed: 2},
		"out of order by two windows": {Events: n, Delay: 3 * time.Millisecond, HotBidders: 1, Disorder: 7000, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			gen := generator(t, cfg)
			events := take(gen, n)
			bids := bidsOf(events)
			delay := gen.OutOfOrder().Milliseconds()
			t.Run("q1", func(t *testing.T) {
				same(t, plain1(bids), engine.Config{}, on(gen, nexmark.Q1),
					events, func(emit func(nexmark.EuroBid)) loop { return &loop1{emit} })
			})
			t.Run("q2", func(t *testing.T) {
				same(t, plain2(bids), engine.Config{}, on(gen, nexmark.Q2),
					events, func(emit func(nexmark.AuctionPrice)) loop { return &loop2{emit} })
			})
			t.Run("q5", func(t *testing.T) {
				same(t, plain5(bids), engine.Config{}, on(gen, nexmark.Q5),
					events, func(emit func(nexmark.HotItem)) loop { return newLoop5(delay, emit) })
			})
			t.Run("q7", func(t *testing.T) {
				same(t, plain7(bids), engine.Config{}, on(gen, nexmark.Q7),
					events, func(emit func(nexmark.HighestBid)) loop { return newLoop7(delay, emit) })
			})
			t.Run("q11", func(t *testing.T) {
				same(t, plain11(bids), engine.Config{}, on(gen, nexmark.Q11),
					events, func(emit func(nexmark.Activity)) loop { return newLoop11(delay, emit) })
			})
			t.Run("q12", func(t *testing.T) {
				var engines, loops hand
				same(t, plain12(events), engine.Config{Clock: engines.clock}, func(g *engine.Graph) engine.Stream[nexmark.Activity] {
					return nexmark.Q12(engine.Map(nexmark.Events(g, gen), engines.move))
				}, events, func(emit func(nexmark.Activity)) loop { return newLoop12(&loops, emit) })
			})
		})
	}
}

// Subtasks share the keys; what they come to together is the same.
func TestQueriesInParallel(t *testing.T) {
	const n = 200_000
	gen := generator(t, nexmark.Config{Events: n, Delay: 3 * time.Millisecond, HotBidders: 1, Disorder: 2000, Seed: 4})
	events := take(gen, n)
	bids := bidsOf(events)
	for _, subtasks := range []int{2, 3} {
		cfg := engine.Config{Parallelism: subtasks}
		t.Run(fmt.Sprint("q1 by ", subtasks), func(t *testing.T) { inParallel(t, plain1(bids), cfg, gen, nexmark.Q1) })
		t.Run(fmt.Sprint("q2 by ", subtasks), func(t *testing.T) { inParallel(t, plain2(bids), cfg, gen, nexmark.Q2) })
		t.Run(fmt.Sprint("q5 by ", subtasks), func(t *testing.T) { inParallel(t, plain5(bids), cfg, gen, nexmark.Q5) })
		t.Run(fmt.Sprint("q7 by ", subtasks), func(t *testing.T) { inParallel(t, plain7(bids), cfg, gen, nexmark.Q7) })
		t.Run(fmt.Sprint("q11 by ", subtasks), func(t *testing.T) { inParallel(t, plain11(bids), cfg, gen, nexmark.Q11) })
		t.Run(fmt.Sprint("q12 by ", subtasks), func(t *testing.T) {
			var h hand
			cfg.Clock = h.clock
			rows := rowsOf(t, cfg, func(g *engine.Graph) engine.Stream[nexmark.Activity] {
				return nexmark.Q12(engine.Map(nexmark.Events(g, gen), h.move))
			})
			onceEach(t, rows)
			if d := difference(byBidder(plain12(events)), byBidder(rows)); len(d) > 0 {
				t.Error("rows too many or (below 0) too few:", d)
			}
		})
	}
}

func inParallel[T comparable](t *testing.T, want []T, cfg engine.Config, gen *nexmark.Generator, q func(stream) engine.Stream[T]) {
	t.Helper()
	rows := rowsOf(t, cfg, on(gen, q))
	if d := difference(want, rows); len(d) > 0 {
		t.Error("rows too many or (below 0) too few:", d)
	}
}

// onceEach checks that no window of a bidder has come in parts.
func onceEach(t *testing.T, rows []nexmark.Activity) {
	t.Helper()
	seen := map[nexmark.Activity]bool{}
	for _, r := range rows {
		r.Bids = 0
		if seen[r] {
			t.Fatal("twice", r)
		}
		seen[r] = true
	}
}

// byBidder adds up the bids of each bidder: which window a bid is in depends on when its subtask comes to it.
func byBidder(parts []nexmark.Activity) (rows []nexmark.Activity) {
	bids := map[int64]int64{}
	for _, p := range parts {
		bids[p.Bidder] += p.Bids
	}
	for bidder, n := range bids {
		rows = append(rows, nexmark.Activity{Bidder: bidder, Bids: n})
	}
	return rows
}

// Where several are the most, all of them are; the generator hardly ever makes equal prices.
func TestHighestBidsMayBeEqual(t *testing.T) {
	bids := []nexmark.Bid{
		{Auction: 1, Price: 500, Time: 0},
		{Auction: 2, Price: 700, Time: 9_999},
		{Auction: 3, Price: 700, Time: 1},
		{Auction: 4, Price: 600, Time: 2},
		{Auction: 5, Price: 700, Time: 10_000},
	}
	var events []nexmark.Event
	for _, b := range bids {
		events = append(events, nexmark.BidEvent(b))
	}
	same(t, []nexmark.HighestBid{
		{Start: 0, End: 10_000, Bid: bids[1]}, {Start: 0, End: 10_000, Bid: bids[2]}, {Start: 10_000, End: 20_000, Bid: bids[4]},
	}, engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.HighestBid] {
		return nexmark.Q7(engine.EventTime(engine.From(g, engine.Slice(events)), nexmark.Event.Time, engine.Bounded(10*time.Second)))
	}, events, func(emit func(nexmark.HighestBid)) loop { return newLoop7(10_000, emit) })
}

// Every record can be kept in a cut and cross a queue.
func TestRecordsAreFlat(t *testing.T) {
	for name, flat := range map[string]func() (bool, error){
		"event": flat[nexmark.Event], "person": flat[nexmark.Person], "auction": flat[nexmark.Auction], "bid": flat[nexmark.Bid],
		"euro bid": flat[nexmark.EuroBid], "auction price": flat[nexmark.AuctionPrice], "hot item": flat[nexmark.HotItem],
		"highest bid": flat[nexmark.HighestBid], "activity": flat[nexmark.Activity],
	} {
		if is, err := flat(); err != nil || !is {
			t.Error(name, is, err)
		}
	}
}

func flat[T any]() (bool, error) {
	c, err := state.CodecOf[T]()
	return c.Flat(), err
}
