package nexmark

import "strconv"

// The places that people live in: few, so that queries that select by state find somebody in a short stream.
var (
	states = [...]string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	cities = [...]string{
		"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
	}
)

// Channel is where a bid came from: one of 4 through which every second bid comes, or one of 10 000 others. It is a number;
// names are made on demand.
type Channel uint16

// channels are the names of the busy ones. The others follow them in number.
var channels = [...]string{"Google", "Facebook", "Baidu", "Apple"}

const otherChannels = 10_000

// String names the channel: "Apple", "channel-17".
func (c Channel) String() string {
	if int(c) < len(channels) {
		return channels[c]
	}
	return "channel-" + strconv.Itoa(int(c)-len(channels))
}
