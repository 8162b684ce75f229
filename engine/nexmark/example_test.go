package nexmark_test

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/engine/nexmark"
)

// The hot items of the first 50 000 events.
func Example() {
	gen, err := nexmark.New(nexmark.Config{Events: 50_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := engine.New(engine.Config{})
	engine.ForEach(nexmark.Q5(nexmark.Events(g, gen)), func(_ engine.Context, h nexmark.HotItem) error {
		_, err := fmt.Printf("until %d: auction %d with %d bids\n", h.End, h.Auction, h.Bids)
		return err
	})
	p, err := g.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Run(context.Background()))
	// Output:
	// until 1436918402000: auction 1500 with 815 bids
	// until 1436918404000: auction 1500 with 815 bids
	// until 1436918406000: auction 1500 with 815 bids
	// until 1436918408000: auction 1500 with 815 bids
	// until 1436918410000: auction 1500 with 815 bids
	// until 1436918412000: auction 3300 with 799 bids
	// until 1436918414000: auction 3900 with 798 bids
	// <nil>
}

// The first events are a person, three auctions, and bids.
func ExampleGenerator_Event() {
	gen, err := nexmark.New(nexmark.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", gen.Event(0).Person())
	fmt.Printf("%+v\n", gen.Event(1).Auction())
	fmt.Printf("%+v\n", gen.Event(123_456).Bid())
	// Output:
	// {ID:1000 City:Kent State:WA Time:1436918400000}
	// {ID:1000 Seller:1000 Category:13 InitialBid:21026 Reserve:888962 Time:1436918400000 Expires:1436918400262}
	// {Auction:8384 Bidder:3308 Price:797 Time:1436918412345 Channel:channel-2670}
}
