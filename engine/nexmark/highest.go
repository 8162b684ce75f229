package nexmark

import (
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// highestSize is the size of the windows of Q7.
const highestSize = 10 * time.Second

// HighestBid is a bid that no other in a window [Start, End) exceeds.
type HighestBid struct {
	Start, End int64 // milliseconds
	Bid        Bid
}

// highest are the bids with the highest price so far.
type highest struct{ Bids []Bid }

func (h highest) add(b Bid) highest {
	if len(h.Bids) > 0 {
		switch price := h.Bids[0].Price; {
		case b.Price < price:
			return h
		case b.Price > price:
			h.Bids = h.Bids[:0]
		}
	}
	h.Bids = append(h.Bids, b)
	return h
}

// Q7 finds the highest bid of every 10 s. Where several are equally high, it emits all of them.
//
// There is but one key: the maximum is over all bids.
func Q7(s engine.Stream[Event]) engine.Stream[HighestBid] {
	all := engine.KeyBy(Bids(s), func(Bid) int64 { return 0 })
	top := engine.Aggregate(engine.Window(all, window.Tumbling(highestSize)), engine.Aggregation[Bid, highest, highest]{
		Add:    highest.add,
		Result: func(h highest) highest { return h },
	})
	return engine.FlatMap(top, func(r engine.Result[int64, highest], emit func(HighestBid)) {
		for _, b := range r.Value.Bids {
			emit(HighestBid{Start: r.Window.Start, End: r.Window.End, Bid: b})
		}
	})
}
