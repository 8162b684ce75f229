// Package events is the vocabulary of Tidemark: the closed set of facts that can stand in a job's log, the ids they are
// made of, and their bytes. A byte written today is readable for ever.
//
// One event is one entry of a Redis Stream:
//
//	XADD tm:{orders}:log * _watermill_message_uuid 0f9c… payload {"v":1,"kind":"task_acked","at":1764453600000,"data":{…}}
//	     └ stream of the job                       └ EventID      └ Envelope                                    └ Event
//
// An [Envelope] carries what all events have; [Event] is implemented by one pointer type for each [Kind] and by nothing
// else, so that a switch over it can be total.
//
// # Invariants
//
//  1. Decode never panics and never keeps a reference to its input.
//  2. What Encode wrote, Decode reads back as the same value, and Encode then writes the same bytes. (Bytes in a text that
//     are not UTF-8 become U+FFFD on the way, and measures below zero become unknown.)
//  3. A member that this version does not know survives a round trip, at every level ([Unknown]).
//  4. Encode refuses what Decode would refuse: both ask the same validate.
//  5. Integers keep all 64 bits.
//  6. null is as good as absent. Of a member that stands twice the last one counts, as for most readers of JSON; only v,
//     kind and data must not stand twice. No object or array nests deeper than 64 levels.
//
// # Concurrency
//
// All functions are pure. An event that others may read must not be changed any more.
//
// # Failure
//
// Errors wrap [ErrMalformed], [ErrUnknownKind], [ErrUnknownVersion] or [ErrInvalidID]. A reader of the log quarantines the
// entry and goes on.
//
// # Testing
//
// testdata/wire/v1 holds one frozen file for each kind; files are only ever added. FuzzDecode compares the decoder with
// encoding/json. docs/wire-format.md lists every field, and a test runs its examples against a real Redis.
package events
