// Package target is what a program works on: one job on one Redis, as the flags --redis and --job, or a [Config], name it.
//
//	--redis, --job ──► client ──► start-up check ──► log and store of the job
//	                     └─ watched: "redis cannot be reached", once; "redis answers again"
//
// # Invariants
//
//  1. What [Open] returns has answered once, and can do what Tidemark needs.
//  2. An outage costs one warning and one line at its end; further warnings come once each while it lasts.
//  3. No text holds a password.
//
// # Concurrency
//
// A [Target] may be used from any goroutine. One goroutine of its own watches the client, unless that is the caller's; Close
// joins it. [Flags.Open] is called once a process: go-redis' own log is global.
//
// # Failure
//
// A Redis that is away at the start is an error, within five seconds; later it is waited for.
//
// # Testing
//
// Package e2e restarts real servers under the real programs.
package target
