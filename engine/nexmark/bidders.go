package nexmark

import (
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/window"
)

// The windows of Q11 and Q12.
const (
	sessionGap   = 10 * time.Second
	activitySize = 10 * time.Second
)

// Activity is how many bids a bidder made in a time [Start, End).
type Activity struct {
	Bidder, Bids int64
	Start, End   int64 // milliseconds
}

func byBidder(b Bid) int64 { return b.Bidder }

func activity(r engine.Result[int64, int64]) Activity {
	return Activity{Bidder: r.Key, Bids: r.Value, Start: r.Window.Start, End: r.Window.End}
}

// Q11 counts the bids of every session of a bidder: it ends 10 s after the last bid, when none has come in between.
func Q11(s engine.Stream[Event]) engine.Stream[Activity] {
	sessions := engine.Window(engine.KeyBy(Bids(s), byBidder), window.Session(sessionGap))
	return engine.Map(engine.CountWindow(sessions), activity)
}

// Q12 counts the bids of every bidder in each 10 s of processing time. The clock is that of the graph ([engine.Config].Clock).
func Q12(s engine.Stream[Event]) engine.Stream[Activity] {
	windows := engine.Window(engine.KeyBy(Bids(s), byBidder), window.Tumbling(activitySize)).InProcessingTime()
	return engine.Map(engine.CountWindow(windows), activity)
}
