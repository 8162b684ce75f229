// Package testredis gives a test a Redis of its own: a real redis-server process on a free port, which is gone when
// the test ends.
//
//	test ──Start──► redis-server, port p, dir t.TempDir()       Stop, Restart: same port, same dir
//	                  │  answers PING before Start returns      Pause, Resume: SIGSTOP, SIGCONT
//	                  └─ killed by its pid in t.Cleanup
//
// Nothing is written to disk unless the test asks for it, for example with Start(t, "--appendonly", "yes").
//
// Where no redis-server is installed the test is skipped with a message that says so; with TIDEMARK_REQUIRE_REDIS=1 in
// the environment it fails instead, so that a build server cannot be green without having tested anything.
//
// # Invariants
//
//  1. No two servers share a port or a folder, and none listens beyond loopback.
//  2. No server outlives its test. On Linux this holds even when the test binary is killed.
//  3. Only processes that this package started are ever signalled.
//
// # Concurrency
//
// A [Server] belongs to one test; its methods may be called from any goroutine of it, one at a time.
//
// # Failure
//
// A server that does not come up fails the test with the tail of its log. A port that was taken between finding
// and binding it is replaced by another one, a few times.
//
// # Testing
//
// The package tests itself: pause, restart with and without persistence, cluster.
package testredis
