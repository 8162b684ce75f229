// Package window places moments of event time in windows.
//
//	         size
//	       ◄──────►
//	 ──────┬───────┬───────┬──────►  event time, ms
//	    -1000      0     1000
//	[-1000,0)   [0,1000)           -500 lies in the first: bounds are floors, also before the epoch
//
// # Invariants
//
//  1. A moment lies in exactly one tumbling window, whose bounds are offset plus whole multiples of the size.
//  2. A window contains its Start and not its End; its last moment is End-1.
//
// # Concurrency
//
// Everything here is a value.
//
// # Failure
//
// A size or offset that makes no sense is reported by Validate, which a graph calls when it is built; nothing divides
// by zero. Windows near the ends of the int64 range wrap around.
//
// # Testing
//
// The bounds are checked as a property over all sizes, offsets and times.
package window
