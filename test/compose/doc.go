// Package compose holds no code: its test runs docker-compose.yml for real, kills containers, and looks at what is
// left in the end.
//
// # Invariants
//
//  1. Every service becomes healthy, and is so again after its container was killed.
//  2. The job ends, and its output is the known right answer: no row twice, none missing.
//
// # Concurrency
//
// One stack at a time per test, under a project name of its own, so it does not meet a stack started by hand.
//
// # Failure
//
// A failed test prints the logs of all containers. The stack and its volumes are removed in any case.
//
// # Testing
//
// The test needs Docker with Compose, and is skipped unless TIDEMARK_COMPOSE=1 is set: make compose-test sets it,
// after building the binaries and a Redis image from this machine alone. No registry is needed.
package compose
