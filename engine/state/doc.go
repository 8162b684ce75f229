// Package state keeps keyed state that can be frozen in an instant, and writes it as bytes that depend on content alone.
//
//	Table, one key group                                       Frozen (a cut)
//
//	 index   [   | tag 17 |   | tag 3 |   ]                     tree ─┐ (the nodes of that moment)
//	             open addressing, 4 bytes a slot                      │
//	                    │ entry 17 = page 1, place 1                  │
//	 places  [p0][p1][p2]  ◄── the shortest way to a page             │
//	           │   │   │                                              │
//	 pages    16  16  16 entries  ◄───────────────────────────────────┤
//	           ▲   ▲   ▲                                              │
//	 tree     nodes of 32, the same pages  ◄──────────────────────────┘
//
//	 first write after a cut: its page is copied, and the two to four nodes above it; nothing else is
//
// # Invariants
//
//  1. A [Frozen] never changes, whatever happens to its [Table] afterwards.
//  2. Freezing costs O(groups). The first write to a page after it copies that page and the nodes above it that this epoch
//     has not copied yet: 0.8 KB for 10 000 keys of 8 bytes in a group, 1.6 KB for 17 million. Nothing
//     ever copies a whole key group.
//  3. Values in a [Frozen] are deep: a value with slices, maps or pointers is cloned with its page before it may change.
//  4. Equal content gives equal bytes, in any order of writes, in any process: keys are written in the order of their
//     encoding, and the hash that places them in groups is fixed ([Hash64]).
//  5. What was written reads back equal, with all 64 bits of an integer; anything else is an error that wraps
//     [ErrCorrupt], [ErrVersion] or [ErrSchema], never a panic.
//  6. Two keys are the same if their encodings are. A NaN is one key, 0.0 and -0.0 are two, and a time is the same key after
//     a restore as before.
//  7. The entries of a group have no gaps: the last one moves to where one is taken out. Behind the last, everything is zero.
//  8. Searches stay short: an index is at most 3/4 full, and a group whose keys share hashes (the windows of one key do)
//     places them by a second hash of the whole key. Which hash that is shows nowhere.
//  9. Memory comes back: an index shrinks when less than 1/8 of it is in use, to be half full; one empty page stays.
//
// # Costs
//
// A table of numbers takes about 25 bytes for a key and value of 8 bytes each: 16 for themselves, 1 for places, 0.6 for the
// tree, 5 to 11 for the index. Growing an index doubles it at once, without a look at the keys: about 2 ms for 100 000 keys
// in one group.
//
// # Concurrency
//
// A [Table] belongs to one goroutine at a time; the engine's checkpoint lock sees to that. Only [Table.GroupOf] and
// [Table.Empty] are anyone's. A [Frozen] may be read and encoded by any number of goroutines while its table goes on.
//
// # Failure
//
// Decoding adds to a table that nobody uses yet ([Table.Empty]): a stored key group is taken whole, or the table is of no
// use. Which of the groups to take is up to the caller. A marshaller of the user's own that fails panics inside the
// operation, before it has changed anything.
//
// # Testing
//
// Rapid state machines compare an index with the hashes it was given, and tables and their frozen views with plain maps,
// with good hashes and with bad ones; group encodings are compared with a plain one; both decoders are fuzzed.
package state
