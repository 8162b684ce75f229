// Package view reads the log for people: one checkpoint's story event by event, why it ended as it did, and the table of
// checkpoints. Everything is a fold of the log again, so that it can be asked of any log, live or exported, without Redis.
//
//	T-0.004 s  checkpoint_requested         ops asked for a checkpoint: before the upgrade
//	T+0.000 s  checkpoint_triggered         triggered in epoch 3; needs acks of 8 tasks within 1m0s
//	T+0.112 s  task_acked            src-1  acked (1 of 8), 1.2 MiB in 5 chunks
//	   …
//	T+60.002 s checkpoint_failed            failed: expired; missing sink-3
//	T+63.120 s task_acked            sink-3 refused: late
//
// # Invariants
//
//  1. Every line stands for one event of the log, in the order of the log, with the outcome that the fold gave it.
//  2. An event is in the story if it names the checkpoint, asked for it, or changed it; no other is.
//  3. Times are the events' own, or the log's for an event that names none; a time after the trigger is never shown as
//     before it, whatever the clocks said.
//
// # Concurrency
//
// All functions are pure; they fold a state of their own and leave the one they are given alone.
//
// # Failure
//
// None. A checkpoint that the log does not know has an empty story, and Explain says so.
//
// # Testing
//
// testdata holds stories as golden files (go test -rewrite).
package view
