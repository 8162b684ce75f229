package nexmark_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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

// hand is a clock that events move: it shows the latest time of any that has come by.
type hand struct{ now int64 }

func (h *hand) clock() int64 { return h.now }

func (h *hand) move(e nexmark.Event) nexmark.Event {
	h.now = max(h.now, e.Time())
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

// same compares the rows of the engine and of the loop with those wanted, in any order.
func same[T comparable](
	t *testing.T, want []T, cfg engine.Config, s func(*engine.Graph) engine.Stream[T], events []nexmark.Event, l func(emit func(T)) loop,
) {
	t.Helper()
	var rows engine.Rows[T]
	p := build(t, cfg, s, &rows)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late := p.Progress().LateDropped; late != 0 {
		t.Error(late, "records late")
	}
	if d := difference(want, rows.All()); len(d) > 0 {
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
		"out of order by two windows": {Events: n, Delay: 3 * time.Millisecond, HotBidders: 1, ActivePeople: 2000, Disorder: 7000, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			gen := generator(t, cfg)
			events := take(gen, n)
			bids := bidsOf(events)
			delay := gen.OutOfOrder().Milliseconds()
			type stream = engine.Stream[nexmark.Event]
			source := func(g *engine.Graph) stream { return nexmark.Events(g, gen) }
			t.Run("q1", func(t *testing.T) {
				same(t, plain1(bids), engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.EuroBid] { return nexmark.Q1(source(g)) },
					events, func(emit func(nexmark.EuroBid)) loop { return &loop1{emit} })
			})
			t.Run("q2", func(t *testing.T) {
				same(t, plain2(bids), engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.AuctionPrice] { return nexmark.Q2(source(g)) },
					events, func(emit func(nexmark.AuctionPrice)) loop { return &loop2{emit} })
			})
			t.Run("q5", func(t *testing.T) {
				same(t, plain5(bids), engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.HotItem] { return nexmark.Q5(source(g)) },
					events, func(emit func(nexmark.HotItem)) loop { return newLoop5(delay, emit) })
			})
			t.Run("q7", func(t *testing.T) {
				same(t, plain7(bids), engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.HighestBid] { return nexmark.Q7(source(g)) },
					events, func(emit func(nexmark.HighestBid)) loop { return newLoop7(delay, emit) })
			})
			t.Run("q11", func(t *testing.T) {
				same(t, plain11(bids), engine.Config{}, func(g *engine.Graph) engine.Stream[nexmark.Activity] { return nexmark.Q11(source(g)) },
					events, func(emit func(nexmark.Activity)) loop { return newLoop11(delay, emit) })
			})
			t.Run("q12", func(t *testing.T) {
				var engines, loops hand
				same(t, plain12(events), engine.Config{Clock: engines.clock}, func(g *engine.Graph) engine.Stream[nexmark.Activity] {
					return nexmark.Q12(engine.Map(source(g), engines.move), engines.clock)
				}, events, func(emit func(nexmark.Activity)) loop { return newLoop12(&loops, emit) })
			})
		})
	}
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

// A run that dies in the middle and is adopted gives the rows of one that does not.
func TestQueriesGoOnFromACut(t *testing.T) {
	const n, at = 100_000, 60_000
	gen := generator(t, nexmark.Config{Events: n, Delay: time.Millisecond, Disorder: 500})
	t.Run("q5", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q5) })
	t.Run("q7", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q7) })
	t.Run("q11", func(t *testing.T) { goesOn(t, gen, at, nexmark.Q11) })
}

func goesOn[T any](t *testing.T, gen *nexmark.Generator, at int64, q func(engine.Stream[nexmark.Event]) engine.Stream[T]) {
	t.Helper()
	var whole, rows engine.Rows[T]
	if err := build(t, engine.Config{}, func(g *engine.Graph) engine.Stream[T] { return q(nexmark.Events(g, gen)) }, &whole).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	errDead, items := errors.New("dead"), map[string][]byte{}
	var first *engine.Pipeline
	first = build(t, engine.Config{}, func(g *engine.Graph) engine.Stream[T] {
		n := int64(0)
		return q(engine.TryMap(nexmark.Events(g, gen), func(c engine.Context, e nexmark.Event) (nexmark.Event, error) {
			if n++; n < at {
				return e, nil
			}
			s, err := first.Cut(c, 1)
			if err != nil {
				return e, err
			}
			for _, i := range s.Items {
				if items[i.Name], err = i.Encode(); err != nil {
					return e, err
				}
			}
			return e, errDead
		}))
	}, &rows)
	if err := first.Run(t.Context()); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	second := build(t, engine.Config{}, func(g *engine.Graph) engine.Stream[T] { return q(nexmark.Events(g, gen)) }, &rows)
	if err := second.Restore(t.Context(), items, engine.Adopt); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(whole.All(), rows.All()); d != "" {
		t.Error(d)
	}
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
