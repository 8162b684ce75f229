// Package flights is a whole job as a value: flights per origin airport and day, on 20 000 real flight records in the order
// in which they arrived, with the right answer beside it.
//
//	JSON lines ► map ► filter: my share of the origins ► event time ► key by origin ► 24 h windows ► JSON lines
//
// The records are out of order by up to 491 minutes of event time ([OutOfOrderness]): with that bound, no record is late.
//
// # Invariants
//
//  1. Every origin belongs to exactly one task of n, by its hash ([Owner]); so the outputs of all tasks together are the rows
//     of one run of a single task.
//  2. The outputs of a run, whatever was killed meanwhile, pass [Check].
//  3. The greatest delay of a day is at least 0: a day of flights that were all early has a greatest delay of 0.
//
// # Concurrency
//
// A job belongs to its pipeline; [Check] and [Answer] are functions.
//
// # Failure
//
// Errors are those of the engine. [Check] names the first differences.
//
// # Testing
//
// [WriteInput] writes the embedded records to a file, so that the job needs nothing from outside.
package flights
