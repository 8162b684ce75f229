// Package logtest is the contract of eventlog as a test that every implementation passes.
//
//	func TestContract(t *testing.T) {
//		logtest.Exercise(t, func(t *testing.T) logtest.Server { return … })
//	}
//
// # Invariants
//
//  1. Every sentence of the contract that does not need a broken network has a test here; those that do stand beside the implementation.
//  2. No test sleeps: each waits for a batch, or polls with a limit.
//
// # Concurrency
//
// Each test gets a server of its own, so tests may run at once where the implementation allows it.
//
// # Failure
//
// A test that would wait for ever ends with the context, after [Limit].
//
// # Testing
//
// memlog runs it in virtual time, redislog on a real Redis.
package logtest
