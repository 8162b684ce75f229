// Package redis keeps checkpoint records and state chunks on Redis 6.2 or newer, single node, Sentinel or Cluster, by the
// contract of package store. It is the one place outside the log that speaks Redis.
//
//	checkpoint:7                     record: one plain JSON string             library store, New
//	checkpoint:index  …:index:time   cache of ids, flags and timestamps
//
//	streaming:runtime:checkpoint:{orders}:7             record                 job store, NewJob
//	streaming:runtime:checkpoint:{orders}:state:<sha>   chunk                  workers write it
//	tm:{orders}:leader                                  token: epoch, instance compared by every coordinator write
//
// Only purely numeric suffixes are records; whoever writes one by a plain SET has written a checkpoint. The bytes are
// described in docs/store-format.md.
//
// The index is a cache. It is built by one SCAN when the store opens, kept by the same script that writes a record, and
// checked against the records whenever it is used: an entry without a record is dropped, a wrong flag or time corrected,
// and an index that was evicted, in whole or in part, is built anew. What a foreign writer puts beside it while the store
// is open is seen by Load at once, and by List, Latest and HighestID after the next opening, of any process; Create
// never overwrites it, and enters it into the index.
//
// # Invariants
//
//  1. Every write of a coordinator compares its token in the same script; a missing or other token writes nothing.
//  2. A record is written only over the bytes that the decision was made on, compared whole by the server.
//  3. No script decodes or encodes JSON, since Lua keeps 53 bits of an integer.
//  4. Every key of a script is in its KEYS, and all keys of a job share one slot.
//  5. No command walks the keyspace but the SCAN of opening, and that on the server which owns the slot.
//  6. A TTL is set on a chunk that the same script created or that was mortal already, and by Release.
//
// # Concurrency
//
// All methods are safe for concurrent use, by any number of processes. Of the calls that need an index that is not
// there, one builds it and the others wait for it or for their context. No goroutine is started.
//
// # Failure
//
// A script is atomic, so a crash of either side leaves a record with its index entry or neither. An answer that got
// lost is read back: bytes that equal the ones sent, or the nonce of Create, are success, and go-redis sending a script
// a second time by itself is no different. A command that was cut off may still arrive later; it then finds other bytes
// than it expects and does nothing. The index is not the truth: losing it costs a SCAN.
//
// Records and chunks are only as durable as the server: see maxmemory-policy and appendonly.
//
// # Testing
//
// The suites of store/storetest run on a real server, on a Cluster, behind faults, and on miniredis. Connections that
// lose exactly the answer of a script test the reading back, with clients that send again and clients that do not.
package redis
