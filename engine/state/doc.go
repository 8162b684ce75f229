// Package state keeps keyed state that can be frozen in an instant, and writes it as bytes that depend on content alone.
//
//	Table                                  Frozen (a cut)
//	 group 0   index: key ─► entry
//	           pages ─► [p0][p1][p2]  ◄──── pages (the same ones)
//	 group 1   pages ─► [p0'][p1]
//	                     ▲ first write after the cut: this page, 16 entries, is copied; nothing else is
//
// # Invariants
//
//  1. A [Frozen] never changes, whatever happens to its [Table] afterwards.
//  2. Freezing costs O(groups); the first write to a page after it copies one page, and the page pointers of one group
//     once. Nothing ever copies a whole key group.
//  3. Values in a [Frozen] are deep: a value with slices, maps or pointers is cloned with its page before it may change.
//  4. Equal content gives equal bytes, in any order of writes, in any process: keys are written in the order of their
//     encoding, and the hash that places them is fixed ([Hash64]).
//  5. What was written reads back equal, with all 64 bits of an integer; anything else is an error that wraps
//     [ErrCorrupt], [ErrVersion] or [ErrSchema], never a panic.
//
// # Concurrency
//
// A [Table] belongs to one goroutine at a time; the engine's checkpoint lock sees to that. A [Frozen] may be read and
// encoded by any number of goroutines while its table goes on.
//
// # Failure
//
// Decoding adds to a table that nobody uses yet ([Table.Empty]): a stored table is taken whole or not at all.
//
// # Testing
//
// A rapid state machine compares a table and its frozen views with plain maps; both decoders are fuzzed.
package state
