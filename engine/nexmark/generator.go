package nexmark

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
)

// Constants of the public benchmark. First ids are not 0, so that the numbers which queries select by occur early.
const (
	firstAuctionID  = 1000
	firstPersonID   = 1000
	firstCategoryID = 10
	categories      = 5
	lead            = 10  // people and auctions that are named before they come
	hotGroup        = 100 // one of so many people or auctions is hot
	step            = 953 // from one event to the next within a group of disorder; a prime
)

// Generator makes the events of the benchmark. It is a source ([engine.Source]) that can seek, for it can make any event
// without those before it: [Generator.Event]. It holds no position, and any number of goroutines may use it.
type Generator struct {
	cfg    Config
	total  int64
	prices *prices
}

var _ engine.Source[Event] = (*Generator)(nil)

// New makes a generator, or says what is wrong with cfg ([ErrConfig]).
func New(cfg Config) (*Generator, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("nexmark generator: %w", err)
	}
	return &Generator{cfg: cfg, total: cfg.People + cfg.Auctions + cfg.Bids, prices: newPrices()}, nil
}

// Events is the stream of a generator with its watermarks: [engine.Bounded] by [Generator.OutOfOrder].
func Events(g *engine.Graph, gen *Generator) engine.Stream[Event] {
	return engine.EventTime(engine.From(g, engine.Source[Event](gen)), nil, engine.Bounded(gen.OutOfOrder()))
}

// OutOfOrder is by how much an event may be older than one before it, in whole milliseconds. 0 means that times only rise.
func (g *Generator) OutOfOrder() time.Duration {
	spread := time.Duration(g.cfg.Disorder-1) * g.cfg.Delay
	return (spread + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Seekable is true: offsets are numbers of events.
func (g *Generator) Seekable() bool { return true }

// Run collects the events from c.From() on, as fast as they are taken; [engine.Throttle] slows it down.
func (g *Generator) Run(_ context.Context, c *engine.Collector[Event]) error {
	if c.From() > g.cfg.Events {
		return fmt.Errorf("offset %d of %d events: %w", c.From(), g.cfg.Events, engine.ErrInvalid)
	}
	for n := c.From(); n < g.cfg.Events; n++ {
		e := g.Event(n)
		if err := c.CollectSoon(engine.Record[Event]{Value: e, Timestamp: e.time, Next: n + 1}); err != nil {
			return err
		}
	}
	return nil
}

// Event makes the event at place n of the stream, from 0 on.
func (g *Generator) Event(n int64) Event {
	if size := g.cfg.Disorder; size > 1 {
		in := n % size
		n += in*step%size - in
	}
	id := g.cfg.FirstEventID + n
	c := newChance(g.cfg.Seed, id)
	round, place := id/g.total, id%g.total
	switch ts := g.at(n); {
	case place < g.cfg.People:
		return g.person(&c, round*g.cfg.People+place, ts)
	case place < g.cfg.People+g.cfg.Auctions:
		return g.auction(&c, round*g.cfg.Auctions+place-g.cfg.People, (round+1)*g.cfg.People-1, n, ts)
	default:
		return g.bid(&c, (round+1)*g.cfg.Auctions-1, (round+1)*g.cfg.People-1, ts)
	}
}

// at is the time of event number n, in milliseconds.
func (g *Generator) at(n int64) int64 {
	return g.cfg.BaseTime + n*int64(g.cfg.Delay)/int64(time.Millisecond)
}

func (g *Generator) person(c *chance, id, ts int64) Event {
	return Event{kind: PersonKind, time: ts, id: firstPersonID + id, tag: uint16(c.below(int64(len(cities) * len(states))))}
}

// auction makes an auction; person is the latest one, n the number of the event.
func (g *Generator) auction(c *chance, id, person, n, ts int64) Event {
	seller := person / hotGroup * hotGroup
	if c.below(g.cfg.HotSellers) == 0 {
		seller = g.anyone(c, person)
	}
	horizon := g.at(n+g.cfg.InFlight*g.total/g.cfg.Auctions) - ts
	return Event{
		kind: AuctionKind, time: ts, id: firstAuctionID + id, other: firstPersonID + seller,
		tag: uint16(firstCategoryID + c.below(categories)), amount: g.prices.draw(c), more: g.prices.draw(c),
		length: uint32(1 + c.below(max(2*horizon, 1))),
	}
}

// bid makes a bid; auction and person are the latest ones.
func (g *Generator) bid(c *chance, auction, person, ts int64) Event {
	item := auction / hotGroup * hotGroup
	if c.below(g.cfg.HotAuctions) == 0 {
		oldest := max(auction-g.cfg.InFlight, 0)
		item = oldest + c.below(auction-oldest+1+lead)
	}
	bidder := person/hotGroup*hotGroup + 1 // the second, so that hot sellers and hot bidders are not the same
	if c.below(g.cfg.HotBidders) == 0 {
		bidder = g.anyone(c, person)
	}
	channel := c.below(int64(len(channels)))
	if c.below(2) == 0 {
		channel = int64(len(channels)) + c.below(otherChannels)
	}
	return Event{
		kind: BidKind, time: ts, id: firstAuctionID + item, other: firstPersonID + bidder,
		amount: g.prices.draw(c), tag: uint16(channel),
	}
}

// anyone chooses among the active people and a few that are still to come; last is the latest one.
func (g *Generator) anyone(c *chance, last int64) int64 {
	active := min(last+1, g.cfg.ActivePeople)
	return last + 1 - active + c.below(active+lead)
}
