package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/internal/redisconn"
	"github.com/tidemark-stream/tidemark/internal/settings"
)

// The exit codes.
const (
	ExitOK         = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitSuperseded = 3 // another process has the task: a restart at once would take it away from that one
	ExitCommit     = 4 // committed output is not what it must be: a restart finds the same
)

// ErrUsage is what errors of [Usage] and [Usagef] are: the program was called wrongly.
var ErrUsage = errors.New("wrong call")

// usageError marks an error that the caller of the program can mend by calling it differently.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func (usageError) Is(target error) bool { return target == ErrUsage }

// Usage wraps err so that the program ends with [ExitUsage].
func Usage(err error) error { return usageError{err} }

// Usagef is [Usage] of a formatted error.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codedError ends the program with a code of its own.
type codedError struct {
	error
	code   int
	silent bool // what is wrong has been printed as output
}

func (e codedError) Unwrap() error { return e.error }

// Coded wraps an error that ends the program with the code.
func Coded(code int, err error) error { return codedError{error: err, code: code} }

// Silent wraps an error that has been shown already: the program ends with the code and without another word.
func Silent(code int, err error) error { return codedError{error: err, code: code, silent: true} }

// Main runs the command until it ends or a signal asks it to. The first SIGINT or SIGTERM cancels the context, so that
// the command drains; a second one ends the process at once with 128 + the signal's number.
func Main(root *cobra.Command) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2) // sent by the runtime; 2: the one that drains and the one that forces
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // a terminal that is closed is a wish to end, unless nohup says otherwise
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		cancel(signalError{s})
		if s, ok = <-signals; ok {
			fmt.Fprintf(os.Stderr, "second %s: ending without draining\n", s)
			if n, ok := s.(syscall.Signal); ok {
				os.Exit(128 + int(n))
			}
			os.Exit(ExitFailed)
		}
	}()
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(cmd, err)
}

func exitCode(cmd *cobra.Command, err error) int {
	var coded codedError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		if !coded.silent {
			fmt.Fprintf(cmd.ErrOrStderr(), "error: %v\n", err)
		}
		return coded.code
	case Interrupted(err):
		fmt.Fprintf(cmd.ErrOrStderr(), "ended by %v\n", err)
		return ExitFailed
	case errors.Is(err, ErrUsage), errors.Is(err, settings.ErrInvalid), errors.Is(err, redisconn.ErrAddress), isCobraUsage(err):
		fmt.Fprintf(cmd.ErrOrStderr(), "error: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return ExitUsage
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "error: %v\n", err)
		return ExitFailed
	}
}

// isCobraUsage recognises the errors that cobra itself makes of a wrong command line; they have no type.
func isCobraUsage(err error) bool {
	for _, start := range []string{"unknown command", "required flag", "accepts ", "requires at least", "invalid argument"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}

// Interrupted reports whether err says that a signal ended the command.
func Interrupted(err error) bool {
	var s signalError
	return errors.As(err, &s)
}

// signalError is the cause with which a signal cancels the context.
type signalError struct{ os.Signal }

func (s signalError) Error() string { return "signal " + s.String() }
