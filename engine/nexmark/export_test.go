package nexmark

// BidEvent makes an event of a bid, for tests that need certain ones.
func BidEvent(b Bid) Event {
	return Event{
		kind: BidKind, time: b.Time, id: b.Auction, other: b.Bidder, amount: uint32(b.Price), tag: uint16(b.Channel),
	}
}
