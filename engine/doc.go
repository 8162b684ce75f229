// Package engine runs streams with state in one process, and takes consistent snapshots of them without stopping them.
//
//	source goroutine             task goroutine                    task goroutines, one for each subtask
//	┌────────────┐  bounded   ┌────────────────────┐   bounded    ┌────────────────────────────┐
//	│ Source.Run ├───ring───► │ map ► filter ► key-by ──┬──rings───► │ gate ► process ► window ► sink │
//	└────────────┘            └──────────┬─────────┘   └──rings───► │ gate ► process ► window ► sink │
//	 emission lock             each task's share of the          └─────────────┬──────────────┘
//	 (the source's own)        checkpoint lock: one record's                  Pipeline.Cut: all shares,
//	                           whole body is one fence                        O(key groups), then Item.Encode
//	                                                                          outside of every lock
//
// A [Graph] is put together from typed functions ([From], [Map], [KeyBy], [Process], [Window], [ToFile], …), checked by
// [Graph.Build], and run once by [Pipeline.Run]. Operators are chained by direct calls. With one subtask, which is the
// default, a pipeline is one task; with [Graph.SetParallelism] records move at each [KeyBy] to the subtask that has their key
// group. [Pipeline.Cut] gives a [Snapshot] of everything at one moment; [Pipeline.Restore] hands one to a new pipeline of the
// same graph, with as many subtasks or others. [Checkpoints] does both within one process.
//
// # Invariants
//
//  1. One record's whole body within a task runs under that task's share of the checkpoint lock: a cut from elsewhere sees
//     all of its writes or none.
//  2. One cut is over all state of the graph: positions, keyed state, timers, watermarks, windows, what is under way between
//     subtasks, sinks, registered sources. It is taken while every task is between two records.
//  3. The position in a cut is that of the last processed record. What waits in a source's ring is read again; what has left a
//     source and waits between subtasks is in the cut.
//  4. Nothing blocks under the checkpoint lock: no source, no queue, no file. What a record sends to another subtask is gathered,
//     and handed over after its end. User functions are the user's matter; one that is slow delays a cut by its own time.
//  5. A run that adopts a cut and goes on gives the output that an uninterrupted run gives, with however many subtasks.
//  6. With one subtask a result depends on the records and their order alone, not on time, goroutines or batching; except where
//     a trigger, timer or time to live asks for processing time, which comes from [Config].Clock alone. With several, records of
//     one key that come from one subtask keep their order. A run that goes back to a checkpoint in its middle
//     ([Checkpoints.Restore]) depends on that moment too.
//  7. A watermark never goes back. A record that no window takes is counted ([Progress].Windows), and can be read
//     ([WindowedStream.WithLateOutput]).
//
// # Concurrency
//
// A task's share of the checkpoint lock serves waiters in order of arrival, and the task offers it between any two records. Who
// takes several shares takes the execution's own lock first. An emission lock is taken by its source alone, so a source may hold
// it while the ring is full. Inside the checkpoint lock only leaf locks are taken (a sink's memory, a slice); a sink's file lock
// is never taken under it. A function that cuts, from inside its record, passes its [Context]; a cut with any other context from
// there waits for its own record, until its context ends.
//
// A [Graph] belongs to one goroutine. All methods of a [Pipeline] may be called from any. Every goroutine that Run starts has
// ended when Run returns.
//
// # Hazards
//
// How this could deadlock, and why it does not:
//
//   - A record's body blocks on a full exchange while a cut waits for its lock: it never does; it gathers, and the task hands
//     over when it holds no lock.
//   - Two tasks wait for space at each other's gate: exchanges lead from one place of the graph to a later one, never back. The
//     last place sends to none, so it always goes on, and with it the one before.
//   - A cut holds some shares and waits for a task that waits for one of them: tasks only take their own share. They wait for
//     each other in rings, holding none.
//   - Two cuts each hold what the other wants: whoever takes several shares holds the execution's lock, so there is one at a time.
//   - One slow record makes every task stand still: a cut that finds a task inside a record lets the others go on after 1 ms, and
//     takes that task's share first the next time; after 4 times it holds on.
//   - A cut from inside a record waits for that record: its [Context] shows where it comes from. With one subtask it is taken at
//     once; with several it is refused ([ErrInRecord]), and [Pipeline.Request] takes it at the record's end. The same goes for
//     checkpoints, for going back to one ([Checkpoints.Restore]), and for queries ([Lookup], [Scan]).
//   - Two subtasks look up each other's keys from inside their records: refused, a record reads the keys of its own subtask.
//   - A source blocks in Collect, holding its emission lock, while a cut is wanted: a cut takes no emission lock.
//   - A sink's write waits for the disk while a cut is wanted: files are written between records, under a lock of their own that
//     nothing takes inside the checkpoint lock.
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
// Property tests kill a run at any record, go on at another parallelism, and compare with an uninterrupted one; a test with real
// processes does the same to files, with SIGKILL and SIGSTOP. A state machine lets every call of a transactional output fail, or
// the process end, before and after it has its effect. Each hazard has a test. Item decoders are fuzzed.
package engine
