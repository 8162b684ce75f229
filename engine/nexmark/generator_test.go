package nexmark_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

var allowEvent = gocmp.AllowUnexported(nexmark.Event{})

// 1 person, 3 auctions and 46 bids of every 50 events; ids without gaps; references to what is there or comes soon.
func TestEventsReferToEachOther(t *testing.T) {
	person, auction := int64(999), int64(999)
	for n, e := range take(generator(t, nexmark.Config{}), 100_000) {
		want := nexmark.BidKind
		switch n % 50 {
		case 0:
			want = nexmark.PersonKind
		case 1, 2, 3:
			want = nexmark.AuctionKind
		}
		if e.Kind() != want {
			t.Fatal("event", n, "is a", e.Kind())
		}
		known := func(what string, id, latest, back, period, hot int64) {
			if id%period != hot && id < latest-back || id > latest+10 || id < 1000 {
				t.Fatalf("event %d: %s %d, the latest is %d", n, what, id, latest)
			}
		}
		switch want {
		case nexmark.PersonKind:
			p := e.Person()
			if person++; p.ID != person || p.City == "" || p.State == "" {
				t.Fatal(n, p)
			}
		case nexmark.AuctionKind:
			a := e.Auction()
			if auction++; a.ID != auction || a.Category < 10 || a.Category > 14 || a.Reserve < a.InitialBid+100 || a.Expires <= a.Time {
				t.Fatal(n, a)
			}
			known("seller", a.Seller, person, 1000, 100, 0)
		default:
			b := e.Bid()
			known("auction", b.Auction, auction, 100, 100, 0)
			known("bidder", b.Bidder, person, 1000, 100, 1)
		}
	}
}

// What is drawn is drawn as often as it should be, to within a few standard deviations.
func TestEventsAreDrawnAsOftenAsConfigured(t *testing.T) {
	counts := map[string]float64{}
	length, before := 0.0, int64(0)
	for _, e := range take(generator(t, nexmark.Config{}), 500_000) {
		switch e.Kind() {
		case nexmark.AuctionKind:
			a := e.Auction()
			length += float64(a.Expires-a.Time) / 30_000
			if a.Seller%100 == 0 {
				counts["hot seller"] += 1. / 30_000
			}
		case nexmark.BidKind:
			const one = 1. / 460_000
			b := e.Bid()
			if b.Auction%100 == 0 {
				counts["hot auction"] += one
			}
			if b.Bidder%100 == 1 {
				counts["hot bidder"] += one
			}
			if b.Channel.String() == "Apple" {
				counts["busy channel"] += one
			}
			if b.Price < 100 || b.Price > 1e8 {
				t.Fatal("price", b.Price)
			}
			if b.Price == before {
				counts["price as before"] += one
			}
			before = b.Price
			if b.Price < 1000 {
				counts["price below 10"] += one
			}
			if b.Price >= 1e7 {
				counts["price of 100 000 and more"] += one
			}
		default:
		}
	}
	for what, want := range map[string]float64{
		"hot seller": 3./4 + 1./4/100, "hot auction": 1./2 + 1./2/100, "hot bidder": 3./4 + 1./4/100, "busy channel": 1. / 8,
		"price as before": 0, "price below 10": 1. / 6, "price of 100 000 and more": 1. / 6,
	} {
		if got := counts[what]; math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %.4f, want %.4f", what, got, want)
		}
	}
	// In 1666 events, 100 auctions come; that is the mean length.
	if math.Abs(length-166.6) > 2 {
		t.Errorf("auctions of %.1f ms", length)
	}
}

// Groups of events change their order, and nothing else.
func TestDisorderStaysWithinItsGroup(t *testing.T) {
	const n, group = 10_000, 500
	cfg := nexmark.Config{Delay: 300 * time.Microsecond}
	inOrder := take(generator(t, cfg), n)
	if gen := generator(t, cfg); gen.OutOfOrder() != 0 || !slices.IsSortedFunc(inOrder, byTime) {
		t.Error("not in order:", gen.OutOfOrder())
	}
	cfg.Disorder = group
	gen := generator(t, cfg)
	events := take(gen, n)
	latest, most := int64(0), int64(0)
	for _, e := range events {
		latest = max(latest, e.Time())
		most = max(most, latest-e.Time())
	}
	if bound := gen.OutOfOrder().Milliseconds(); most > bound || most < bound-2 {
		t.Error("out of order by", most, "ms, at most", bound)
	}
	for at := range slices.Chunk(inOrder, group) {
		for _, e := range at {
			if !slices.Contains(events[:group], e) {
				t.Fatal("missing:", e)
			}
		}
		events = events[group:]
	}
}

func byTime(a, b nexmark.Event) int { return int(a.Time() - b.Time()) }

// An event depends on seed, id and place alone, and a source starts anywhere.
func TestEventsCanBeMadeInAnyOrder(t *testing.T) {
	cfg := nexmark.Config{Seed: 7, Events: 1000}
	want := take(generator(t, cfg), 1000)
	gen := generator(t, cfg)
	for n := int64(999); n >= 0; n-- {
		if got := gen.Event(n); got != want[n] {
			t.Fatal(gocmp.Diff(want[n], got, allowEvent))
		}
	}
	var rows engine.Rows[nexmark.Event]
	p := build(t, engine.Config{}, func(g *engine.Graph) stream { return nexmark.Events(g, gen) }, &rows)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, rows.All(), allowEvent); d != "" {
		t.Error(d)
	}
	cfg.Seed++
	if slices.Equal(want, take(generator(t, cfg), 1000)) {
		t.Error("the seed means nothing")
	}
	cfg.Seed, cfg.FirstEventID = 7, 500
	second := generator(t, cfg)
	for n := range int64(500) {
		if got, same := second.Event(n), want[n+500]; got.Kind() != same.Kind() || got.Bid().Bidder != same.Bid().Bidder ||
			got.Person().ID != same.Person().ID || got.Time() != want[n].Time() {
			t.Fatal("event", n, "of the second range:", gocmp.Diff(same, got, allowEvent))
		}
	}
}

func TestMakingAnEventDoesNotAllocate(t *testing.T) {
	gen, n := generator(t, nexmark.Config{Disorder: 100}), int64(0)
	if a := testing.AllocsPerRun(1000, func() { gen.Event(n); n++ }); a != 0 {
		t.Error(a, "allocations")
	}
}

func TestNewRefusesWhatMakesNoSense(t *testing.T) {
	for name, cfg := range map[string]nexmark.Config{
		"negative events":          {Events: -1},
		"negative delay":           {Delay: -time.Second},
		"negative share":           {Bids: -1},
		"a step of no effect":      {Disorder: 2 * 953},
		"auctions that last years": {Delay: time.Hour, InFlight: 1_000_000},
		"disorder by years":        {Delay: time.Hour, Disorder: 1_000_000},
		"too many people":          {ActivePeople: 1 << 40},
	} {
		if _, err := nexmark.New(cfg); !errors.Is(err, nexmark.ErrConfig) {
			t.Error(name, err)
		}
	}
}
