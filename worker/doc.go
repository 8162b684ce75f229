// Package worker runs one task of a job: it registers, restores, processes, and answers checkpoints.
//
//	register ─► assigned ─► restore ─► task_restored ─► process ─────────────► end of input
//	                                                     │  ▲                        │ one more completed checkpoint
//	                             pending checkpoint:     ▼  │ completed / failed     ▼
//	                             cut ─► serialise ─► store ─► task_acked         task_finished
//	                              └── any mistake ──────────► task_declined
//
// The cut is taken under the pipeline's checkpoint lock and is short; serialising and storing run outside. The worker
// learns what it must do from the control feed, a level: the newest state alone is enough, and a worker that was held
// up starts only what is still pending.
//
// # Invariants
//
//  1. An ack says that every chunk of its handle is stored.
//  2. Nothing is processed before the restore point is in place, and nothing after it could not be.
//  3. A completed checkpoint is committed by the pipeline, in order; a failed one is forgotten, and what it covers rides
//     in the next cut. Either notice is repeated until the pipeline has taken it. Only a checkpoint that this attempt has
//     cut commits anything.
//  4. An attempt that could not give a sign of life for as long as one lives, or sees a later attempt, stops writing. It
//     registers anew, unless another process has the task by then: two processes never take it from each other in turns.
//  5. A task has finished when a checkpoint that was cut after the end of its input is completed and committed.
//  6. A worker that was told its share works only for a coordinator that expects as many tasks as there are shares.
//  7. Unchanged state is stored in the same chunks, see docs/store-format.md.
//
// # Concurrency
//
// Run is called once; Hurry may be called from anywhere. One goroutine owns the attempt; the pipeline, the beat, the control
// feed and the cut under way each have their own, and send to it. All have ended when Run returns.
//
// Of two contexts the work's ends with Run's. The life's goes on through the last words (a cut that is being stored, declines,
// a farewell), with signs of life, and ends at once when the attempt is void.
//
// # Failure
//
// A connection that is lost is waited for. What the worker said and does not know to have arrived is said again; the
// fold counts it once.
//
//	what happens                                       what the worker does
//	a cut, its encoding or its upload fails            declines with the reason, goes on
//	a checkpoint is pending no more                    gives it up without a word
//	a process stood still, Redis was away too long     stops writing, looks around, registers anew
//	another process has the task                       ends: ErrSuperseded
//	the log lost the registration (flush, failover)    registers anew
//	a restore point that the store does not hold       says so on the log, registers anew; if it is the same: ErrRestore
//	a restore point that cannot be put in place        ends: ErrRestore, nothing was processed
//	a commit fails                                     tries again every second
//	a commit can never succeed                         ends: ErrCommit
//	the task has finished in an earlier run            goes home with nil before it registers (mode Adopt)
//	told another number of shares than tasks expected  ends: ErrShare, before it processes anything or any further
//	a function of the job fails                        declines what is pending, ends with operator and position
//	Run's context ends                                 stores the cut under way, declines the rest, says that it left
//
// A write to the store or file that blocks for ever cannot be interrupted; Run waits for it.
//
// # Testing
//
// memlog and store/memory run in a testing/synctest bubble; the tests play the coordinator by hand, or use a real one. On
// a real Redis whole jobs run while processes are killed, paused and disconnected at random (go test -run Killed . -seeds 100).
package worker
