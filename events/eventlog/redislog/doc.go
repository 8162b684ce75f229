// Package redislog keeps the log of a job on Redis Streams.
//
//	Publish ──► stock watermill-redisstream publisher ──► client (handed in, never re-sends)      ┐
//	Term    ──► one Lua script per write, token compared in it ──► the same client                ├──► Redis
//	Follow, Read, FollowControl ──► a connection of its own each, and a RESP reader without maps  ┘
//
// Readers do not use the client's pool: a blocked read would starve writers of connections, go-redis does not end one when
// its context does, and its map per entry costs half of the throughput. A reader dials as the client would (TLS, ACL user, Sentinel,
// Cluster), speaks RESP2, and is ended by closing its connection.
//
// # Invariants
//
//  1. Every read of Follow goes out together with a look at the anchor, behind it on the same connection: entries are delivered only if the
//     entry before them was still there when they were read. Nothing can be trimmed or deleted between the two unseen.
//  2. No path reads a whole stream in one reply. A page is at most 512 entries; it shrinks to what holds 4 MiB when entries
//     are large, grows slowly, and keeps at most 64 MiB of one reply whatever the server sends.
//  3. XADD never has a MAXLEN. The log is trimmed in one script, below the saved fold.
//  4. All keys that a script touches are in KEYS and in one slot. Times are the server's.
//
// # Concurrency
//
// A [Log] may be used from any goroutine. It starts none; a canceled context closes the reader's connection from
// context.AfterFunc.
//
// # Failure
//
// A write whose answer did not come has an unknown outcome: Publish repeats it, Term reports it. An error reply, a refused dial and a
// slot that has moved are known not to have happened. A Redis that becomes a replica ends our blocked reads; a new
// connection to a replica is refused until the client leads to a master again. While a slot is being moved to another
// node of a cluster (ASK), writes are errors that pass and Publish waits.
//
// Where the server does not count removed entries (before Redis 7), a deleted stream that has begun anew is reported as
// trimmed.
//
// # Testing
//
// logtest.Exercise runs on a real Redis; further tests restart it, fail it over, flush it, cut and hold its answers.
// Config.Embedded keeps away from what miniredis does badly: it polls instead of blocking.
package redislog
