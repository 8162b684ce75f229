// Package projection is the meaning of the log: a pure fold of its events, and what is to be done given the fold. The
// same log gives the same state, on any machine, at any hour, in any batching.
//
//	          triggered            all acks folded              completed
//	(none) ───────────► pending ─────────────────► finalizing ───────────► completed ──► retired ──┐
//	                       │                            │                                          │ state_discarded
//	                       │ declined, expired,         │ state_missing, finalize_failed,          ▼
//	                       │ aborted, subsumed,         │ task_restarted, coordinator_changed   (history)
//	                       │ task_restarted/lost,       │ (nothing else: all acks are in)          ▲
//	                       │ coordinator_changed,       │                                          │ state_discarded
//	                       │ shutdown                   │                                          │
//	                       └────────────► failed ◄──────┘ ─────────────────────────────────────────┘
//
// [State.Apply] folds one event and answers with an [Outcome]; [Decide] lists what the coordinator is to do now, with
// [Timing] for what its clock has seen and [Gates] for what only its loop knows; [NextDue] tells when to look again.
//
// # Rules
//
// A coordinator's event counts only in its own epoch. An ack counts once for each required task, in a pending checkpoint,
// from the required attempt, addressed to the epoch that triggered, under the checkpoint's joining event if it has one; a
// checkpoint without one takes any ack. Of two acks of one attempt the first is kept. Everything else has an outcome of its
// own and changes nothing but counters.
//
// A decline, or a request to abort that means it, dooms a pending checkpoint: further acks are kept, but it never becomes
// finalizing, so that the verdict that the coordinator then logs is always accepted.
//
// A registration under a new instance gives the next attempt, ends every live checkpoint that requires (or carries the end
// state of) the older one, and fixes the restore point, which is pinned until it is loaded. A lost attempt ends the pending
// checkpoints that still wait for its ack. A finished task counts as acked, with its last handle, in later checkpoints and
// in the pending ones. Tasks that registered before the first coordinator are kept and sorted out when the policy is known;
// under a set of tasks all others are foreign, and must register again after a policy that names them.
//
// A completed plain checkpoint subsumes the pending plain ones before it. A savepoint subsumes nothing, is subsumed by
// nothing, is never retired and is no restore point. Shutdown may fail what is pending, never what is finalizing.
//
// A completed checkpoint is withdrawn when the store does not hold it as it was written: it is retired then, for that reason,
// even if it is the newest or pinned, and tasks that were to restore it restore the newest that is left. At least one is,
// unless the event says that none need be. An attempt that had loaded it meanwhile may go on. A task's word that it could not
// restore ends the attempt and is a doubt, no more: the coordinator looks for itself. While anything is in doubt nothing is
// retired.
//
// The queue of requests serves savepoints before checkpoints and old before young; beyond its bound the lowest is refused.
// It survives a change of coordinators. Savepoints do not wait for a free slot. While more ended checkpoints than
// max-concurrent wait to be discarded, nothing is triggered. Periodic triggers never stand in the queue: one is due an
// interval after the tasks have become ready and then in the interval's rhythm, missed ones are skipped. Min-pause runs from
// the last completion, savepoints included; failures do not count.
//
// # Invariants
//
// [State.Check] tests them all.
//
//  1. A checkpoint is in exactly one list: live, completed, savepoints or waste; each list is sorted by id.
//  2. A completed checkpoint has all its acks, or was forced; a finalizing one has all its acks and is not doomed.
//  3. Every id in use is below NextID; no id is triggered twice.
//  4. Every live checkpoint belongs to the epoch in force, and the epoch is at most MaxEpoch.
//  5. Every live checkpoint requires only current attempts, and every required task is expected.
//  6. Acked is the number of slots that hold an ack, and never above Required.
//  7. A pinned restore point is a completed checkpoint that is kept.
//  8. A task is finished if and only if its end state is held.
//  9. The counters ready, finished and doubting agree with the task table.
//  10. The queue holds exactly the queued requests, owed exactly the ones to be refused, and exam those that wait for a look at
//     a restore point; an abort is open as long as a checkpoint that it marked is live.
//  11. Nothing is larger than its bound.
//  12. A withdrawn checkpoint is retired, and what a task doubts is a completed checkpoint that is kept.
//  13. A task that has left is lost.
//
// # Concurrency
//
// Nothing here is safe for concurrent use: one loop owns the state. Others get a [State.Clone].
//
// # Failure
//
// Nothing panics and nothing fails on bad input: what breaks a rule is [Refused] or a more exact outcome, the entry belongs
// into quarantine, and the fold goes on. A saved fold of another format is [ErrFoldVersion] and is rebuilt from the log; a
// damaged one is [ErrFoldCorrupt].
//
// # Testing
//
// testdata holds golden logs: events in, outcomes, changed state and decisions out (go test -rewrite). A rapid state machine
// checks the invariants after random events, legal and illegal; folds are compared under doubling of every event and under
// save and restore at every position.
package projection
