// Package coordinator coordinates the checkpoints of one job: it triggers them, gathers each task's answer, decides, and
// keeps the finished ones. All that it knows is a fold of the job's event log, so a crash loses nothing.
//
// As a library it coordinates tasks of its own process ([Open], see the example). As a service (Run on a Redis log and a
// job's store) it is one of several candidates of which one leads; workers take part by the log alone.
//
//	        commands (verbs)     terms (lease keeper)
//	               │                   │
//	               ▼                   ▼
//	log ──reader──► loop: fold ─► decide ─► effects ──► log lane:   verdicts, control feed, saved fold
//	               ▲                          │
//	               └────────── results ◄──────┴───────► store lane: open record, proof, record, discard
//
// One goroutine, the loop, owns the fold; it does no I/O and waits for nothing but its next input. Effects run in two
// lanes of bounded width, so that a store that hangs holds up no verdict. A verdict counts when it has been read back.
//
// # Crash points
//
// What is there after a crash between two steps, and what the next reign makes of it. Each line has a test.
//
//	after                                          found by the next reign                    repair
//	open record created                            record the log does not know               its id counts as used; Cleanup removes it
//	checkpoint_triggered appended                  pending of an older epoch                  the fold ends it: coordinator_changed
//	last ack appended                              finalizing of an older epoch               the fold ends it: coordinator_changed
//	chunks made permanent                          finalizing of an older epoch               failed; its chunks get an end of life
//	checkpoint_completed appended                  completed, record still open               record marked, then announced
//	record marked                                  completed, not announced                   announced
//	checkpoints_retired appended                   retired, record still there                record and chunks discarded
//	chunks released or record deleted              retired or failed, not yet discarded       the same again, which is harmless
//	state_discarded appended                       nothing
//
// # Invariants
//
//  1. Nothing is appended, and no key written, before the own coordinator_started has been read back.
//  2. Every write carries the token of the reign and is refused once another has begun.
//  3. A record never says more than the log; only what has landed is announced.
//  4. An expiry is decided on a read of the log that began after the deadline: an ack that was in the log in time counts.
//  5. A chunk is given an end of life only while no finalization is under way.
//
// # Concurrency
//
// All methods of [Coordinator] may be called from any goroutine. They wait for the loop, never the loop for them.
//
// # Failure
//
// Without Redis nothing is decided, and nothing is lost: the lease may lapse, effects are repeated, reads resume. Lost
// entries of the log end the reign; see crossGap.
//
// # Testing
//
// memlog and store/memory run in a testing/synctest bubble; storetest.Faulty makes the store fail and hang. The suite
// runs on a real Redis as well.
package coordinator
