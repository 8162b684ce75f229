package nexmark

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrConfig is in the chain of every error of [New].
var ErrConfig = errors.New("invalid generator config")

// Config of a generator. The zero value of every field means the default, which is that of the public benchmark; a negative
// value is an error.
type Config struct {
	// Events is how many events there are. 0 means no end.
	Events int64
	// Seed makes another stream with the same properties.
	Seed uint64
	// FirstEventID is the id of the first event; generators with ranges of ids that do not overlap give people and auctions
	// that do not either. Event number n has the id FirstEventID+n.
	FirstEventID int64
	// BaseTime is the time of the first event in milliseconds. 0 means 2015-07-15T00:00:00Z.
	BaseTime int64
	// Delay is the event time between two events. 0 means 100 µs, 10 000 events a second.
	Delay time.Duration
	// People, Auctions and Bids are how many of each there are in People+Auctions+Bids events. 0 means 1, 3 and 46.
	People, Auctions, Bids int64
	// HotAuctions: all bids but one of so many are for the hot auction, the first of the last 100. 0 means 2; 1 means none.
	HotAuctions int64
	// HotSellers: all auctions but one of so many are by the hot seller, the first of the last 100 people. 0 means 4.
	HotSellers int64
	// HotBidders: all bids but one of so many are by the hot bidder, the second of the last 100 people. 0 means 4.
	HotBidders int64
	// InFlight is among how many of the latest auctions the others of the bids choose. 0 means 100.
	InFlight int64
	// ActivePeople is among how many of the latest people the others of the sellers and bidders are. 0 means 1000.
	ActivePeople int64
	// Disorder is the size of the groups within which events come out of order. 0 means 1, in order. It must not be a multiple
	// of 953, the step within a group.
	Disorder int64
}

// Defaults, and 2015-07-15T00:00:00Z.
const (
	defaultBaseTime = 1_436_918_400_000
	defaultDelay    = 100 * time.Microsecond
)

// validate checks c and fills in the defaults.
func (c *Config) validate() error {
	const big, count = math.MaxInt64, math.MaxInt32
	for _, f := range []struct {
		name  string
		value *int64
		zero  int64 // what 0 means
		limit int64
	}{
		{"events", &c.Events, math.MaxInt64, big},
		{"first event id", &c.FirstEventID, 0, big},
		{"base time", &c.BaseTime, defaultBaseTime, big},
		{"delay", (*int64)(&c.Delay), int64(defaultDelay), big},
		{"people", &c.People, 1, count},
		{"auctions", &c.Auctions, 3, count},
		{"bids", &c.Bids, 46, count},
		{"hot auctions", &c.HotAuctions, 2, count},
		{"hot sellers", &c.HotSellers, 4, count},
		{"hot bidders", &c.HotBidders, 4, count},
		{"in flight", &c.InFlight, 100, count},
		{"active people", &c.ActivePeople, 1000, count},
		{"disorder", &c.Disorder, 1, count},
	} {
		if *f.value < 0 || *f.value > f.limit {
			return fmt.Errorf("%s of %d: %w", f.name, *f.value, ErrConfig)
		}
		if *f.value == 0 {
			*f.value = f.zero
		}
	}
	if c.Disorder%step == 0 {
		return fmt.Errorf("disorder of %d, a multiple of %d: %w", c.Disorder, step, ErrConfig)
	}
	for what, events := range map[string]float64{"auction": 2 * c.horizon(), "group of disorder": float64(c.Disorder)} {
		// An event keeps the length of an auction in 32 bits.
		if ms := events * float64(c.Delay) / float64(time.Millisecond); ms >= math.MaxUint32 {
			return fmt.Errorf("%s of up to %.0f ms: %w", what, ms, ErrConfig)
		}
	}
	return nil
}

// horizon is how many events it takes until as many auctions as are in flight have come.
func (c *Config) horizon() float64 {
	return float64(c.InFlight) * float64(c.People+c.Auctions+c.Bids) / float64(c.Auctions)
}
