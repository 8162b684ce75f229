// Package subscriber shows the log of a job to watermill: routers and middleware take it as any message.Subscriber.
//
//	eventlog.Reader.Follow ──► one goroutine per Subscribe ──► messages, one at a time, in order
//	                             poison ──► OnPoison             UUID      event id
//	                             gap    ──► OnGap                payload   the event's JSON
//	                                                             metadata  position, kind, job
//
// It is for side effects: notices, mirrors, metrics. The fold reads [eventlog.Reader] itself, in batches.
//
// # Invariants
//
//  1. Messages come in the order of the log, the next one after the ack of the one before. A nack brings the same one again,
//     after a pause.
//  2. No entry ends the subscription: poison is told to OnPoison and passed over.
//  3. Nothing is stored: a new subscription begins at Config.After. Who must go on where it stopped keeps the position
//     from the metadata, with its effect. Handlers see an event at least once, and again after a gap.
//
// # Concurrency
//
// Each Subscribe has a goroutine of its own, which ends with its context or with Close; Close waits for all of them.
//
// # Failure
//
// Follow repairs connections by itself. An error that it gives up on goes to OnError, and the channel closes.
//
// # Testing
//
// Tests run it in a message.Router over the log in memory; redislog tests it beside stock publishers and subscribers.
package subscriber
