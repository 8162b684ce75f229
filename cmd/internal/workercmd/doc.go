// Package workercmd is the job of the program worker, the flights, as a value. Both programs have it: the worker for its users,
// the coordinator for its demo.
//
// # Concurrency
//
// A job belongs to one process.
//
// # Failure
//
// What is wrong with flags or files is said before Redis is asked for.
//
// # Testing
//
// Package e2e runs the programs; what is refused here is tested here.
package workercmd
