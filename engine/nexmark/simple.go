package nexmark

import "github.com/tidemark-stream/tidemark/engine"

// Bids are the bids of a stream of events.
func Bids(s engine.Stream[Event]) engine.Stream[Bid] {
	return engine.Map(engine.Filter(s, func(e Event) bool { return e.Kind() == BidKind }), Event.Bid)
}

// EuroBid is a bid in euros.
type EuroBid struct {
	Auction, Bidder int64
	// Price is in thousandths of a cent: the rate has three decimals, so nothing is rounded.
	Price int64
	// Time of the bid, in milliseconds.
	Time int64
}

// perMille is 1000 times the rate of the benchmark, 0.908 euros for a dollar.
const perMille = 908

// Q1 converts the price of every bid from dollars to euros.
func Q1(s engine.Stream[Event]) engine.Stream[EuroBid] {
	return engine.Map(Bids(s), func(b Bid) EuroBid {
		return EuroBid{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price * perMille, Time: b.Time}
	})
}

// AuctionPrice is what was bid for an auction, in cents.
type AuctionPrice struct{ Auction, Price int64 }

// every: Q2 selects the auctions whose ids are multiples of it.
const every = 123

// Q2 selects the bids for every 123rd auction.
func Q2(s engine.Stream[Event]) engine.Stream[AuctionPrice] {
	selected := engine.Filter(Bids(s), func(b Bid) bool { return b.Auction%every == 0 })
	return engine.Map(selected, func(b Bid) AuctionPrice { return AuctionPrice{b.Auction, b.Price} })
}
