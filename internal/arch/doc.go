// Package arch holds no code: its tests keep the shape of the module, so that a plain go test finds what a review
// would have to look for.
//
//	cmd/coordinator                    cmd/worker, examples
//	   │                                  │
//	   │                                  ▼
//	   │                                 job          (and programs of users)
//	   ▼                                  ▼
//	coordinator                        worker ─────► engine    (imports nothing of ours)
//	   │   │                            │  │
//	   ▼   └──► store ◄─────────────────┘  │
//	projection    │      events/eventlog ◄─┘ (and ◄── coordinator)
//	   │          │            │
//	   └──────────┴─► events ◄─┘               (standard library only)
//
// # Invariants
//
//  1. Imports point along the arrows, directly and through other packages; each forbidden edge says why.
//  2. Only events/eventlog, store/redis and the wiring around them import a Redis client.
//  3. Every package has a package comment, and no hand-written file outside tests is longer than 400 lines.
//  4. No test waits by sleeping, except inside a synctest bubble, where sleeping is how virtual time passes.
//  5. Every import rule of .golangci.yml fires on a planted violation, and stays silent on allowed imports.
//
// # Concurrency
//
// Nothing runs here.
//
// # Failure
//
// A missing package is no failure, since the tests look at what there is; finding no package at all is one, since
// then they would prove nothing.
//
// # Testing
//
// Invariant 5 needs the linter: make lint-check hands its path over in TIDEMARK_LINT; without it that test skips.
package arch
