// Package window places moments of event time in windows, and says when those are emitted.
//
//	         size
//	       ◄──────►
//	 ──────┬───────┬───────┬──────►  event time, ms
//	    -1000      0     1000
//	[-1000,0)   [0,1000)           -500 lies in the first: bounds are floors, also before the epoch
//
//	assigner                    windows                                  merge   default trigger
//	Tumbling(size)              one after the other                      no      OnEventTime
//	Sliding(size, slide)        overlapping, or with gaps                no      OnEventTime
//	Session(gap)                from the first record to gap after the last  yes     OnEventTime
//	Global()                    all time                                 no      OnEventTime, so at the end
//	Count(n)                    all time, emptied every n records        no      Purging(OnCount(n))
//
// # Invariants
//
//  1. A moment lies in exactly one tumbling window, whose bounds are offset plus whole multiples of the size.
//  2. A window contains its Start and not its End; its last moment is End-1.
//  3. Windows that merge do so where they share a moment; windows that only touch stay apart.
//  4. A trigger holds nothing about any window: what it remembers is in the [Call], which the engine keeps in its state. So
//     two windows do not influence each other, and a run that adopts a cut goes on where the trigger was.
//
// # Concurrency
//
// Everything here is a value. The engine calls a trigger from one goroutine at a time.
//
// # Failure
//
// A size or offset that makes no sense is reported by Validate, which a graph calls when it is built; nothing divides
// by zero. Windows near the ends of the int64 range wrap around.
//
// # Testing
//
// The bounds are checked as properties over all sizes, slides, offsets and times; triggers in tables.
package window
