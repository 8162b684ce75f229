// Package nexmark is the Nexmark benchmark for package engine: a stream of people, auctions and bids that is the same on every
// run, and queries over it.
//
//	Config ──► Generator ──Events──► stream of Event ──Bids──► Q1, Q2 ──► rows
//	           1 person, 3 auctions,                     └───► Q5, Q7, Q11: windows of event time
//	           46 bids of every 50                       └───► Q12: windows of processing time
//
//	Q1   price of every bid in euros                      map
//	Q2   bids for every 123rd auction                     filter, map
//	Q5   auctions with the most bids in 10 s, every 2 s   sliding window by auction, then tumbling by end
//	Q7   highest bid of every 10 s                        tumbling window of one key
//	Q11  bids of a bidder until there is none for 10 s    session window by bidder
//	Q12  bids of a bidder in 10 s of processing time      tumbling window by bidder, by the clock
//
// # Definition
//
// Proportions, ratios, ids, distributions, defaults and queries are those of https://github.com/nexmark/nexmark (commit 6b3646c),
// which has them from Apache Beam, and Beam from the NEXMark paper by Tucker, Tufte, Papadimos and Maier. The random numbers are
// our own, so events have the same distribution as there, and not the same values. What differs:
//
//   - Left out: names, e-mail addresses and credit cards of people, names and descriptions of items, URLs of bids, the random
//     padding, and rates that change over time. None of the queries reads them.
//   - Prices lie on 1024 straight pieces of the exponential curve, which are within 0.003 % of it.
//   - The id of a bidder has the first id of people added once. The original adds it twice, so that bidders are nobody.
//   - Q7 takes bids of the window alone. The original's join also takes bids of equal price at the window's very end.
//   - Q1 has prices in thousandths of a cent, so that it needs no decimals.
//
// # Invariants
//
//  1. Config and place determine an event, whatever was made before it and by whom; so a source can seek.
//  2. No event is older than one before it by more than [Generator.OutOfOrder]; so nothing is late behind [Events].
//  3. Making an event allocates nothing, and neither events nor rows have pointers, but for the names in a [Person].
//
// # Concurrency
//
// A [Generator] does not change; any number of goroutines may use it. Streams belong to their graph.
//
// # Failure
//
// [New] refuses a config ([ErrConfig]). What is made of it does not fail.
//
// # Testing
//
// Each query is compared with a program that follows its definition over all bids at once, and so is each loop that the
// benchmarks compare the engine with; the queries also with several subtasks. Stateful ones are killed and adopted in the
// middle. BenchmarkQueries reports the records per second of engine and loop and the share of the one in the other, with
// events from memory and with events that are made on the way, on one processor and on two; BenchmarkGenerator reports the
// making alone.
package nexmark
