package nexmark_test

import (
	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

// The queries by hand, as one would write them for nothing but this: what the benchmarks compare with. Each takes events in
// batches, emits windows as the watermark passes them, and the rest at the end.

type loop interface {
	add(events []nexmark.Event)
	end()
}

// watermark follows the latest time, less the disorder that is expected.
type watermark struct{ delay, latest int64 }

// advance says whether the watermark has risen: everything before now is there.
func (w *watermark) advance(ts int64) (now int64, risen bool) {
	if ts <= w.latest {
		return 0, false
	}
	w.latest = ts
	return ts - w.delay, true
}

const never = 1 << 62

type loop1 struct{ emit func(nexmark.EuroBid) }

func (l *loop1) add(events []nexmark.Event) {
	for i := range events {
		if events[i].Kind() == nexmark.BidKind {
			b := events[i].Bid()
			l.emit(nexmark.EuroBid{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price * 908, Time: b.Time})
		}
	}
}

func (l *loop1) end() {}

type loop2 struct{ emit func(nexmark.AuctionPrice) }

func (l *loop2) add(events []nexmark.Event) {
	for i := range events {
		if events[i].Kind() != nexmark.BidKind {
			continue
		}
		if b := events[i].Bid(); b.Auction%123 == 0 {
			l.emit(nexmark.AuctionPrice{Auction: b.Auction, Price: b.Price})
		}
	}
}

func (l *loop2) end() {}

// loop5 counts per auction and 2 s, once for each bid, and adds five of these up when a window ends.
type loop5 struct {
	watermark
	emit  func(nexmark.HotItem)
	panes map[int64]map[int64]int64 // by number, start / 2 s
	pane  map[int64]int64           // the one that was used last
	at    int64                     // its number
	next  int64                     // number of the last pane of the window that ends next
	spare []map[int64]int64
	sums  map[int64]int64
}

func newLoop5(delay int64, emit func(nexmark.HotItem)) *loop5 {
	return &loop5{
		watermark: watermark{delay: delay}, emit: emit,
		panes: map[int64]map[int64]int64{}, at: -1, next: never, sums: map[int64]int64{},
	}
}

func (l *loop5) add(events []nexmark.Event) {
	for i := range events {
		if events[i].Kind() != nexmark.BidKind {
			continue
		}
		b := events[i].Bid()
		if at := b.Time / 2000; at != l.at {
			l.open(at)
		}
		l.pane[b.Auction]++
		if now, risen := l.advance(b.Time); risen && (l.next+1)*2000 <= now {
			l.fire(now)
		}
	}
}

func (l *loop5) open(at int64) {
	l.at, l.pane = at, l.panes[at]
	if l.pane != nil {
		return
	}
	l.pane = map[int64]int64{}
	if n := len(l.spare); n > 0 {
		l.pane, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	l.panes[at] = l.pane
	l.next = min(l.next, at)
}

func (l *loop5) fire(now int64) {
	for ; (l.next+1)*2000 <= now && len(l.panes) > 0; l.next++ {
		clear(l.sums)
		best := int64(0)
		for at := l.next - 4; at <= l.next; at++ {
			for auction, n := range l.panes[at] {
				n += l.sums[auction]
				l.sums[auction] = n
				best = max(best, n)
			}
		}
		for auction, n := range l.sums {
			if n == best {
				l.emit(nexmark.HotItem{Start: (l.next - 4) * 2000, End: (l.next + 1) * 2000, Auction: auction, Bids: n})
			}
		}
		if old := l.panes[l.next-4]; old != nil {
			delete(l.panes, l.next-4)
			clear(old)
			l.spare = append(l.spare, old)
		}
	}
}

func (l *loop5) end() { l.fire(never) }

// loop7 keeps the best bids of each open window; there is one, or two while bids come out of order.
type loop7 struct {
	watermark
	emit func(nexmark.HighestBid)
	open []window7
}

type window7 struct {
	start int64
	bids  []nexmark.Bid
}

func newLoop7(delay int64, emit func(nexmark.HighestBid)) *loop7 {
	return &loop7{watermark: watermark{delay: delay}, emit: emit}
}

func (l *loop7) add(events []nexmark.Event) {
	for i := range events {
		if events[i].Kind() != nexmark.BidKind {
			continue
		}
		b := events[i].Bid()
		w := l.window(b.Time - b.Time%10_000)
		switch {
		case len(w.bids) == 0 || b.Price == w.bids[0].Price:
			w.bids = append(w.bids, b)
		case b.Price > w.bids[0].Price:
			w.bids = append(w.bids[:0], b)
		}
		if now, risen := l.advance(b.Time); risen && l.open[0].start+10_000 <= now {
			l.fire(now)
		}
	}
}

// window finds the window of a start, in a list that is in order; mostly the last is meant.
func (l *loop7) window(start int64) *window7 {
	i := len(l.open)
	for i > 0 && l.open[i-1].start > start {
		i--
	}
	if i > 0 && l.open[i-1].start == start {
		return &l.open[i-1]
	}
	l.open = append(l.open, window7{})
	copy(l.open[i+1:], l.open[i:])
	l.open[i] = window7{start: start}
	return &l.open[i]
}

func (l *loop7) fire(now int64) {
	for len(l.open) > 0 && l.open[0].start+10_000 <= now {
		for _, b := range l.open[0].bids {
			l.emit(nexmark.HighestBid{Start: l.open[0].start, End: l.open[0].start + 10_000, Bid: b})
		}
		l.open = l.open[1:]
	}
}

func (l *loop7) end() { l.fire(never) }

// loop12 counts in one map, which it empties when the time is over. Every event moves the clock.
type loop12 struct {
	hand   *hand
	emit   func(nexmark.Activity)
	start  int64
	counts map[int64]int64
}

func newLoop12(h *hand, emit func(nexmark.Activity)) *loop12 {
	return &loop12{hand: h, emit: emit, counts: map[int64]int64{}}
}

func (l *loop12) add(events []nexmark.Event) {
	for i := range events {
		l.hand.move(events[i])
		if events[i].Kind() != nexmark.BidKind {
			continue
		}
		if now := l.hand.clock(); now >= l.start+10_000 {
			l.end()
			l.start = now - now%10_000
		}
		l.counts[events[i].Bid().Bidder]++
	}
}

func (l *loop12) end() {
	for bidder, n := range l.counts {
		l.emit(nexmark.Activity{Bidder: bidder, Bids: n, Start: l.start, End: l.start + 10_000})
	}
	clear(l.counts)
}
