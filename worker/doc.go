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
//     in the next cut.
//  4. A worker that could not give a sign of life for as long as one lives, or sees a later attempt, stops writing.
//
// # Concurrency
//
// Run is called once. One goroutine owns the attempt; the pipeline, the beat, the control feed and the cut under way each
// have their own, and send to it.
//
// # Failure
//
// A connection that is lost is waited for. What the worker said and does not know to have arrived is said again; the
// fold counts it once.
package worker
