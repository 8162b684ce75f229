// Package engine runs streams with state in one process, and takes consistent snapshots of them without stopping them.
//
//	source goroutine            pipeline goroutine                        anyone
//	┌────────────┐  bounded   ┌──────────────────────────────┐
//	│ Source.Run ├──ring────► │ map ► filter ► key-by ► window ► sink │
//	└────────────┘            └──────────────┬───────────────┘
//	 emission lock             checkpoint lock: one record's whole body      Pipeline.Cut: the same lock,
//	 (the source's own)        is one fence; cuts fit in between              O(key groups), then Item.Encode
//	                                                                         outside of every lock
//
// A [Graph] is put together from typed functions ([From], [Map], [KeyBy], [Window], [ToFile], …), checked by [Graph.Build],
// and run once by [Pipeline.Run]. Operators are chained by direct calls. [Pipeline.Cut] gives a [Snapshot] of everything at
// one moment; [Pipeline.Restore] hands one to a new pipeline of the same graph.
//
// # Invariants
//
//  1. One record's whole body runs under the checkpoint lock: a cut from elsewhere sees all of a record's writes or none.
//  2. One cut is over all state of the graph: positions, keyed state, watermarks, windows, sinks, registered sources.
//  3. The position in a cut is that of the last processed record. What waits in a ring is read again.
//  4. Nothing blocks under the checkpoint lock: no source, no queue, no file. User functions are the user's matter; one that
//     is slow delays a cut by its own time.
//  5. A run that adopts a cut and goes on gives the output that an uninterrupted run gives.
//  6. A result depends on the records and their order alone, not on time, goroutines or batching; except where a trigger asks
//     for processing time, which comes from [Config].Clock alone.
//  7. A record that no window takes is counted ([Progress].Windows), and can be read ([WindowedStream.WithLateOutput]).
//
// # Concurrency
//
// The checkpoint lock serves waiters in order of arrival, and the pipeline offers it between any two records. An emission
// lock is taken by its source alone, so a source may hold it while the ring is full. Inside the checkpoint lock only
// leaf locks are taken (a sink's memory, a slice); a sink's file lock is never taken under it. So no two locks nest the
// wrong way. A function that cuts, from inside its record, passes its [Context]; a cut with any other context from there
// waits for its own record, until its context ends.
//
// A [Graph] belongs to one goroutine. All methods of a [Pipeline] may be called from any. Every goroutine that Run starts has
// ended when Run returns.
//
// # Failure
//
// An error or panic of a user's function ends the run with *[OperatorError]: operator, source and record. State is then that
// of half a record, and no cut is taken of it any more. An error of a source ends the run after the records before it. A
// failing snapshot function fails the cut as a whole; a failing item fails the restore as a whole. Rows of a file sink are
// exactly once after a kill or pause at any point ([ToFile]), and so are records in an output with transactions ([ToTwoPhase]).
//
// # Testing
//
// Property tests kill a run at any record and compare with an uninterrupted one; a test with real processes does the same to
// files, with SIGKILL and SIGSTOP. A state machine lets every call of a transactional output fail, or the process end, before and
// after it has its effect. Item decoders are fuzzed.
package engine
