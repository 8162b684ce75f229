// Package servecmd is the verb "serve" of the coordinator. It is a package, not a file of the program, so that the worker
// too knows its settings: one file serves both programs.
//
// # Concurrency
//
// None of its own: the coordinator's.
//
// # Failure
//
// What is wrong with flags is said before Redis is asked for.
//
// # Testing
//
// Package e2e runs the program; what its table of settings says is checked by the coordinator's command.
package servecmd
