// Package memlog keeps the log of one job in memory: the reference implementation of eventlog.Job, for tests in virtual time and
// for embedding without a server.
//
// One [Log] is the server; every coordinator and worker of the job uses the same one. Entries are kept as bytes and
// decoded for each reader, exactly like on Redis.
//
// # Invariants
//
//  1. All waits are on channels and timers: inside a testing/synctest bubble time is virtual.
//  2. Positions are milliseconds of time.Now and a sequence; they never go back, except by [Log.Rewind].
//
// # Concurrency
//
// One mutex guards everything; nothing is called while it is held. No goroutines.
//
// # Failure
//
// Nothing is kept over the end of the process. [Config].Fault makes any call fail, before or after its effect; [Log.Inject],
// [Log.Drop], [Log.TrimTo] and [Log.Rewind] do to the stream what happens to real ones.
//
// # Testing
//
// It passes logtest.Exercise inside a bubble.
package memlog
