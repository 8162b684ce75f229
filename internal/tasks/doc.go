// Package tasks reads how a job is shared out: "2/3" for the second of three equal shares, "3" for all three tasks.
//
// # Concurrency
//
// Functions of their arguments.
//
// # Failure
//
// An error says what is allowed.
//
// # Testing
//
// By tables.
package tasks
