// Package store is the checkpoint contract: records of checkpoints and chunks of state, and what every store
// of them must do. It keeps bytes and folds nothing; which checkpoint counts is the log's business.
//
//	Store                                       Chunks
//	  checkpoint 0   completed                    <sha256>  permanent  ◄─┐ named by the state handles
//	  checkpoint 1   completed  ◄── Latest        <sha256>  permanent  ◄─┤ in completed records
//	  checkpoint 2   open       ◄── HighestID     <sha256>  mortal       └ not claimed yet
//
//	open ──Complete──► completed ──Delete, Cleanup──► gone        (no way back)
//
// Package store/memory is the reference implementation, package store/redis the one for production, and package
// store/storetest the suite that both pass. The bytes are described in docs/store-format.md.
//
// # Invariants
//
//  1. A record never goes from completed to open, and Create never replaces a record.
//  2. What goes in is copied, and so is what comes out: no caller shares memory with a record.
//  3. Integers keep 64 bits and floats stay floats, in both implementations alike. See [State].
//  4. "There is none" and "could not read" are different errors, and one unreadable record breaks no list.
//  5. Latest and Cleanup go by id; a clock that steps back changes the order of List and nothing else.
//  6. A permanent chunk becomes mortal by Release alone, and no life is ever shortened.
//  7. Under a token, nothing is written unless the token is in force at the moment of the write.
//
// # Concurrency
//
// Every method of every type here is safe for concurrent use, [Checkpoint] and [State] excepted: they belong to their
// holder. Nothing here starts a goroutine.
//
// # Failure
//
// A write whose answer got lost is read back before it is judged. Only if that fails as well is the error
// [ErrOutcomeUnknown]; the caller keeps everything and asks again later. All other errors mean that nothing was written.
//
// # Testing
//
// storetest.Exercise runs the rules as tests against any implementation; storetest.NewFaulty puts one behind injected
// errors, before or after the deed, and behind calls that hang. Decoders are fuzzed.
package store
