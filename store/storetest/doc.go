// Package storetest holds what every checkpoint store must do, as tests, and a way to make a store go wrong.
//
//	Exercise, ExerciseJob ──► store.Store, store.JobStore            the rules
//	Faults ──► NewFaulty(store), NewFaultyJob(store)                 before the deed │ after it │ hang
//
// # Invariants
//
//  1. The suites know the contract of package store and no implementation; a rule that both implementations must keep
//     is tested here and nowhere else.
//  2. A wrapped store without faults behaves as the store does.
//  3. A call that a fault hit returns nothing but the error.
//
// # Concurrency
//
// Faults may be added and removed while wrapped stores are in use, from any goroutine.
//
// # Failure
//
// The three ways to fail are those that matter to a caller: it did not happen, it happened and nobody said so, and no
// answer comes at all.
//
// # Testing
//
// The package tests the faults; the suites are run by the implementations.
package storetest
