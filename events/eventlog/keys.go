package eventlog

import "github.com/tidemark-stream/tidemark/events"

// Keys are the Redis keys of one job. The job is their hash tag: all of them lie in one slot of a cluster, and one script
// can touch them all.
type Keys struct{ job events.JobID }

// KeysOf gives the keys of the job.
func KeysOf(job events.JobID) Keys { return Keys{job} }

// Log is the stream of events.
func (k Keys) Log() string { return k.of("log") }

// Control is the stream of control states; the newest counts.
func (k Keys) Control() string { return k.of("control") }

// Leader is the hash with token and lease: epoch, instance, expires (milliseconds of the server's clock). It has no TTL.
func (k Keys) Leader() string { return k.of("leader") }

// Tasks is the hash of assignments, a field for each task.
func (k Keys) Tasks() string { return k.of("tasks") }

// Task is the string with a task's sign of life; it has a TTL.
func (k Keys) Task(task events.TaskID) string { return k.of("task:" + string(task)) }

// Fold is the hash with the saved fold: epoch, position, state.
func (k Keys) Fold() string { return k.of("fold") }

// Quarantine is the stream of poison entries.
func (k Keys) Quarantine() string { return k.of("quarantine") }

func (k Keys) of(name string) string { return "tm:{" + string(k.job) + "}:" + name }
