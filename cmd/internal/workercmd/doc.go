// Package workercmd is the verbs "run" and "health" of the worker. Both programs have the first: the worker for its users, the
// coordinator for its demo.
//
// # Concurrency
//
// While a task runs, a goroutine of its own logs how far it has come; run joins it.
//
// # Failure
//
// What is wrong with flags or files is said before Redis is asked for.
//
// # Testing
//
// Package e2e runs the programs; what is parsed here is tested here.
package workercmd
