// Package e2e tests the two binaries as their users have them: as processes, on a real Redis, by exit codes and output.
//
//	TestMain: go build once ──► coordinator, worker
//	test ──► redis-server of its own ──► serve, worker run, verbs as child processes ──► exit code, stdout, stderr
//
// # Invariants
//
//  1. Nothing that a program writes into a pipe holds an escape code; the kit checks every output.
//  2. No process outlives its test.
//
// # Concurrency
//
// Tests run in parallel; each has its own server, job and folder.
//
// # Failure
//
// A test that fails prints what its processes logged last.
//
// # Testing
//
// It is nothing but tests. They skip without a redis-server, and fail with TIDEMARK_REQUIRE_REDIS=1.
package e2e
