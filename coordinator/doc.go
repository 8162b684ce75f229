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
//	task_restore_failed appended                   a doubt                                    looked into; until then nobody is given that restore point
//	withdrawal_requested appended                  a request                                  looked into, granted or refused
//	checkpoints_withdrawn appended                 retired, record still there                tasks told; damaged chunks removed, the rest discarded
//
// # Invariants
//
//  1. Nothing is appended, and no key written, before the own coordinator_started has been read back.
//  2. Every write carries the token of the reign and is refused once another has begun.
//  3. A record never says more than the log; only what has landed is announced, retired or cleaned up.
//  4. An expiry is decided on a read of the log that began after the deadline: an ack that was in the log in time counts.
//  5. No finalization begins while chunks are given an end of life, nor the other way round.
//  6. No restore point is withdrawn on anybody's word: what is withdrawn could not be read here, or was forced by a person.
//  7. What a turn costs does not grow with the tasks, except after one of them changed.
//
// # Concurrency
//
// All methods of [Coordinator] may be called from any goroutine. They wait for the loop, never the loop for them. A verb
// that gives up leaves nothing behind in the loop; what it has published stays in the log and is answered there.
//
// The lease keeper and the reader are goroutines of their own. Behind a read that reached the end of the log the reader
// waits for the loop's turn, so that the next read ends at the next deadline. A standby looks at the lease four times a
// second: so soon it leads after a resignation.
//
// # Failure
//
// Without Redis nothing is decided, and nothing is lost: the lease may lapse, effects are repeated, reads resume. Only
// appends are repeated under their event ids until the outcome is known; every other write is tried again after a pause
// that grows to 10 s, and holds up none of the rest. Lost entries of the log end the reign; see crossGap.
//
// A store is given StoreTimeout for each access. One that ignores its context keeps its place in the lane and holds up the
// end of Run, which waits for everything that it started.
//
// # Testing
//
// memlog and store/memory run in a testing/synctest bubble, where 200 checkpoints take no time at all; storetest.Faulty makes
// the store fail and hang. A process that dies at a chosen step, or at random ones, is tested in memory and on a real
// Redis, as are cut connections, a restart, lost keys, and an end of the log that goes back.
package coordinator
