// Package eventlog says what the log of one job is: one total order of events, published by anyone, appended to by one
// coordinator at a time, read by everyone from anywhere.
//
//	Publish ─────────────► ┌───────────── tm:{job}:log ─────────────┐ ──► Follow: batches in order, for ever
//	 requests, acks        │ 7-0  7-1  9-0  …  ▲                    │ ──► Read:   a range, from anywhere
//	                       └───────────────────┼────────────────────┘
//	Campaign ──► Term ──► Append, WriteControl,│WriteTasks, KeepTasks, SaveFold, Quarantine, Trim
//	             token (epoch, instance) compared in the same script as each write
//
// The package holds the contract alone. eventlog/redislog keeps it on Redis Streams, eventlog/memlog in memory (for tests
// in virtual time), eventlog/logtest is the suite that both pass, and eventlog/subscriber shows the log to watermill
// routers as a message.Subscriber.
//
// # Invariants
//
//  1. Every reader sees the same entries in the same order, each with the position it has for ever.
//  2. Every entry is delivered: as an envelope when it can be decoded, else as [Poison]. None stops a reader, none comes twice.
//  3. A [Batch] that is AtEnd delivers everything that was appended before its Sampled.
//  4. A lost entry that a reader had passed, or was about to, shows as a [Gap]: trimmed, deleted or lost in a failover.
//  5. A [Term] changes nothing once a later one has begun. A missing token refuses too.
//  6. Nothing is unbounded: batches, copies of poison, the control feed, the quarantine.
//
// # Concurrency
//
// Everything may be called from any goroutine. A sequence that Read, Follow or FollowControl returned belongs to one loop;
// the batches it yields belong to the loop's body and are never touched again.
//
// # Failure
//
// Publish repeats an unknown outcome under the same event id until it is known or ctx ends: the log may hold the event
// twice, and the fold counts it once. Every other write that may or may not have happened is an [*UnknownOutcomeError]:
// read back before deciding. Follow repairs its connection by itself; Read gives the error, and the caller goes on behind
// the last entry it got.
//
// # Testing
//
// logtest.Exercise is the contract as a test. memlog can refuse, lose or hide the outcome of any write, drop the stream,
// trim it and take its end back, so that a test of a coordinator needs no server.
package eventlog
