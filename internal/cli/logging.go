package cli

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// Logging is the flags --log-level and --log-format of a command.
type Logging struct{ level, format string }

// Flags adds them to the command.
func (l *Logging) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "lowest level that is logged: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "auto", "auto (console on a terminal, else json), console or json")
}

// Logger returns the logger that the flags ask for, writing to the command's standard error.
func (l *Logging) Logger(cmd *cobra.Command) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(l.level)
	if err != nil || l.level == "" {
		return zerolog.Nop(), Usagef("--log-level %q is not debug, info, warn or error", l.level)
	}
	var w io.Writer = cmd.ErrOrStderr()
	switch l.format {
	case "auto":
		if IsTerminal(w) {
			w = consoleWriter(w)
		}
	case "console":
		w = consoleWriter(w)
	case "json":
	default:
		return zerolog.Nop(), Usagef("--log-format %q is not auto, console or json", l.format)
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

func consoleWriter(w io.Writer) io.Writer {
	return zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000", NoColor: !IsTerminal(w) || os.Getenv("NO_COLOR") != ""}
}

// SetUpLogs gives log lines times with milliseconds, where zerolog's default has whole seconds, and durations as whole
// milliseconds, as the names of their fields say (_ms). Called once, by main.
func SetUpLogs() {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	zerolog.DurationFieldUnit = time.Millisecond
	zerolog.DurationFieldInteger = true
}
