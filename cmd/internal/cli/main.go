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

	"github.com/tidemark-stream/tidemark/cmd/internal/redisconn"
	"github.com/tidemark-stream/tidemark/cmd/internal/settings"
)

// The exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// usageError marks an error that the caller of the program can mend by calling it differently.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage wraps err so that the program ends with [ExitUsage].
func Usage(err error) error { return usageError{err} }

// Usagef is [Usage] of a formatted error.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// silentError ends the program with [ExitFailed] without another word: what is wrong has been printed as output.
type silentError struct{ error }

func (e silentError) Unwrap() error { return e.error }

// Silent wraps an error that has been shown already.
func Silent(err error) error { return silentError{err} }

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
	var usage usageError
	var silent silentError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &silent):
		return ExitFailed
	case Interrupted(err):
		fmt.Fprintf(cmd.ErrOrStderr(), "ended by %v\n", err)
		return ExitFailed
	case errors.As(err, &usage), errors.Is(err, settings.ErrInvalid), errors.Is(err, redisconn.ErrAddress), isCobraUsage(err):
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
