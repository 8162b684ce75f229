package nexmark_test

import (
	"cmp"
	"slices"

	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

// The queries as their definitions read, over all bids at once: what the engine and the loops must come to.

func bidsOf(events []nexmark.Event) (bids []nexmark.Bid) {
	for _, e := range events {
		if e.Kind() == nexmark.BidKind {
			bids = append(bids, e.Bid())
		}
	}
	return bids
}

func plain1(bids []nexmark.Bid) (rows []nexmark.EuroBid) {
	for _, b := range bids {
		rows = append(rows, nexmark.EuroBid{Auction: b.Auction, Bidder: b.Bidder, Price: 908 * b.Price, Time: b.Time})
	}
	return rows
}

func plain2(bids []nexmark.Bid) (rows []nexmark.AuctionPrice) {
	for _, b := range bids {
		if b.Auction%123 == 0 {
			rows = append(rows, nexmark.AuctionPrice{Auction: b.Auction, Price: b.Price})
		}
	}
	return rows
}

func plain5(bids []nexmark.Bid) (rows []nexmark.HotItem) {
	counts := map[[2]int64]int64{} // by end and auction
	most := map[int64]int64{}      // by end
	for _, b := range bids {
		for end := b.Time/2000*2000 + 2000; end-10_000 <= b.Time; end += 2000 {
			counts[[2]int64{end, b.Auction}]++
			most[end] = max(most[end], counts[[2]int64{end, b.Auction}])
		}
	}
	for k, n := range counts {
		if n == most[k[0]] {
			rows = append(rows, nexmark.HotItem{Start: k[0] - 10_000, End: k[0], Auction: k[1], Bids: n})
		}
	}
	return rows
}

func plain7(bids []nexmark.Bid) (rows []nexmark.HighestBid) {
	most := map[int64]int64{} // by start
	for _, b := range bids {
		most[b.Time/10_000] = max(most[b.Time/10_000], b.Price)
	}
	for _, b := range bids {
		if n := b.Time / 10_000; b.Price == most[n] {
			rows = append(rows, nexmark.HighestBid{Start: n * 10_000, End: n*10_000 + 10_000, Bid: b})
		}
	}
	return rows
}

func plain11(bids []nexmark.Bid) (rows []nexmark.Activity) {
	bids = slices.Clone(bids)
	slices.SortFunc(bids, func(a, b nexmark.Bid) int {
		return cmp.Or(cmp.Compare(a.Bidder, b.Bidder), cmp.Compare(a.Time, b.Time))
	})
	for i, b := range bids {
		if i == 0 || bids[i-1].Bidder != b.Bidder || b.Time-bids[i-1].Time >= 10_000 {
			rows = append(rows, nexmark.Activity{Bidder: b.Bidder, Start: b.Time})
		}
		last := &rows[len(rows)-1]
		last.Bids++
		last.End = b.Time + 10_000
	}
	return rows
}

// plain12 has a clock that shows the latest time of any event so far.
func plain12(events []nexmark.Event) (rows []nexmark.Activity) {
	counts := map[[2]int64]int64{} // by start and bidder
	now := int64(0)
	for _, e := range events {
		now = max(now, e.Time())
		if e.Kind() == nexmark.BidKind {
			counts[[2]int64{now / 10_000 * 10_000, e.Bid().Bidder}]++
		}
	}
	for k, n := range counts {
		rows = append(rows, nexmark.Activity{Bidder: k[1], Bids: n, Start: k[0], End: k[0] + 10_000})
	}
	return rows
}
