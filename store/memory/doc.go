// Package memory keeps checkpoint records and state chunks in memory, by the contract of package store: the reference
// implementation, and the store of tests and of jobs that need not survive their process.
//
// Records are kept encoded, exactly as a server would hold them, so that every rule about types, copies and corrupt
// bytes holds here by the same code.
//
// # Invariants
//
// Those of package store. The token is compared under the lock under which the write happens.
//
// # Concurrency
//
// All methods are safe for concurrent use. One lock guards the records, one the chunks; they are never nested. The leader
// function runs under the first of them, and so does the protected function of Cleanup: neither may use the store.
//
// # Failure
//
// Everything is gone with the process.
//
// # Testing
//
// Time is taken from package time, so that lives of chunks run on the clock of a synctest bubble. PutRaw plants
// foreign bytes.
package memory
