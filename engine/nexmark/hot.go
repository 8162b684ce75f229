package nexmark

import (
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// The windows of Q5.
const (
	hotSize  = 10 * time.Second
	hotSlide = 2 * time.Second
)

// HotItem is an auction for which nobody's bids in a window [Start, End) are outnumbered.
type HotItem struct {
	Start, End int64 // milliseconds
	Auction    int64
	Bids       int64
}

// auctionBids is how many bids an auction had in a window.
type auctionBids = engine.Result[int64, int64]

// hottest are the auctions with the most bids so far.
type hottest struct {
	Bids     int64
	Auctions []int64
}

func (h hottest) add(r auctionBids) hottest {
	if r.Value > h.Bids {
		h.Bids, h.Auctions = r.Value, h.Auctions[:0]
	}
	if r.Value == h.Bids {
		h.Auctions = append(h.Auctions, r.Key)
	}
	return h
}

// Q5 finds the auctions with the most bids in the last 10 s, every 2 s. Where several have equally many, it emits all of them.
//
// The counts of a window are its results, all at its last moment. Since windows end 2 s apart, each of them meets its
// like in a window of 2 s.
func Q5(s engine.Stream[Event]) engine.Stream[HotItem] {
	byAuction := engine.KeyBy(Bids(s), func(b Bid) int64 { return b.Auction })
	counts := engine.CountWindow(engine.Window(byAuction, window.Sliding(hotSize, hotSlide)))
	timed := engine.EventTime(counts, func(r auctionBids) int64 { return r.Window.MaxTimestamp() }, engine.Ascending())
	byWindow := engine.KeyBy(timed, func(r auctionBids) int64 { return r.Window.End })
	hot := engine.Aggregate(engine.Window(byWindow, window.Tumbling(hotSlide)), engine.Aggregation[auctionBids, hottest, hottest]{
		Add:    hottest.add,
		Result: func(h hottest) hottest { return h },
	})
	return engine.FlatMap(hot, func(r engine.Result[int64, hottest], emit func(HotItem)) {
		for _, auction := range r.Value.Auctions {
			emit(HotItem{Start: r.Key - hotSize.Milliseconds(), End: r.Key, Auction: auction, Bids: r.Value.Bids})
		}
	})
}
