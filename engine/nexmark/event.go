package nexmark

// Kind tells the three sorts of events apart.
type Kind uint8

// Kinds of events.
const (
	PersonKind Kind = iota + 1
	AuctionKind
	BidKind
)

// String names the kind: "person".
func (k Kind) String() string {
	switch k {
	case PersonKind:
		return "person"
	case AuctionKind:
		return "auction"
	case BidKind:
		return "bid"
	default:
		return "unknown"
	}
}

// Event is a [Person], an [Auction] or a [Bid]. It is 40 bytes without pointers, so that queues of them are cheap to copy and
// nothing to the garbage collector.
type Event struct {
	time   int64
	id     int64  // of the person, of the auction, of the auction that is bid for
	other  int64  // seller or bidder
	amount uint32 // initial bid or price; 10^8 cents at most
	more   uint32 // what the reserve is above the initial bid
	length uint32 // of the auction, in milliseconds
	tag    uint16 // city and state, category, or channel
	kind   Kind
}

// Kind says which of Person, Auction and Bid has the content.
func (e Event) Kind() Kind { return e.kind }

// Time is the event time in milliseconds.
func (e Event) Time() int64 { return e.time }

// Person is somebody who may sell and bid.
type Person struct {
	ID          int64
	City, State string
	// Time of registration, in milliseconds.
	Time int64
}

// Auction is one item on sale.
type Auction struct {
	ID int64
	// Seller is the id of a person.
	Seller int64
	// Category is 10 to 14.
	Category int64
	// InitialBid and Reserve, the lowest price to sell at, are in cents.
	InitialBid, Reserve int64
	// Time of the opening, and when the auction Expires, in milliseconds.
	Time, Expires int64
}

// Bid is an offer for an auction.
type Bid struct {
	// Auction is the id of an auction, perhaps of one that opens a little later.
	Auction int64
	// Bidder is the id of a person, perhaps of one who registers a little later.
	Bidder int64
	// Price is in cents, 100 to 10^8.
	Price int64
	// Time of the bid, in milliseconds.
	Time    int64
	Channel Channel
}

// Person is the content of an event of [PersonKind], else zero.
func (e Event) Person() Person {
	if e.kind != PersonKind {
		return Person{}
	}
	return Person{ID: e.id, City: cities[e.tag/uint16(len(states))], State: states[e.tag%uint16(len(states))], Time: e.time}
}

// Auction is the content of an event of [AuctionKind], else zero.
func (e Event) Auction() Auction {
	if e.kind != AuctionKind {
		return Auction{}
	}
	initial := int64(e.amount)
	return Auction{
		ID: e.id, Seller: e.other, Category: int64(e.tag), InitialBid: initial, Reserve: initial + int64(e.more),
		Time: e.time, Expires: e.time + int64(e.length),
	}
}

// Bid is the content of an event of [BidKind], else zero.
func (e Event) Bid() Bid {
	if e.kind != BidKind {
		return Bid{}
	}
	return Bid{Auction: e.id, Bidder: e.other, Price: int64(e.amount), Time: e.time, Channel: Channel(e.tag)}
}
