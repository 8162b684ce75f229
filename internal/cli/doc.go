// Package cli is what all programs share at the terminal: the common flags, settings from five places, logging, output as
// text or JSON, signals and exit codes.
//
// Exit codes: 0 done, 1 failed (a checkpoint that failed, a request that was refused, a Redis that cannot be reached), 2 the
// command was called wrongly (unknown flag, impossible value), 3 another worker has the task, 4 output that was to be committed
// is not what it must be. The first SIGINT or SIGTERM asks a command to end in order; a second one ends it at once with 128 +
// the signal's number.
package cli
