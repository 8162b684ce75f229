package job

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
)

// ErrUsage is wrapped by errors that another call would avoid: an impossible [Config], a graph that cannot be built, and what
// [Usagef] makes. [Main] ends with exit code 2 then, which a supervisor does not answer with a restart.
var ErrUsage = cli.ErrUsage

// Usagef formats an error that is an [ErrUsage], for the functions of a [Job] to refuse a setting with.
func Usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// Job is what a program works on. Name and Build are mandatory.
type Job struct {
	// Name is the job's name in Redis, where --job says no other. It matches [A-Za-z0-9._-]{1,128}.
	Name string
	// Program is what the program is called in its own help. Empty means Name.
	Program string
	// About says in "run --help" what the job reads and writes: a paragraph or more, in lines of its own. It may be empty.
	About string
	// Example is the command lines at the end of "run --help". Empty means two that give --task and --redis.
	Example string

	// Flags adds the job's own settings to "run", each bound to a variable of the caller's. Like all others they may also come from
	// the environment (--max-age is TIDEMARK_MAX_AGE), or from a file. A name that the program has already panics. [Run] does not call it:
	// the variables hold what the caller has put there. nil means that there are none.
	Flags func(*pflag.FlagSet)
	// Open is called once, when the settings are known and before Redis is asked for, and makes what Build needs beyond settings.
	// What it returns, unless nil, is called once when the run has ended. nil means that nothing is needed.
	Open func(context.Context, Share) (closer func() error, err error)
	// Build puts the graph for a share together. It is called before Redis is asked for, so that a mistake is told at once and
	// costs no checkpoint, and again for each attempt; so it opens and starts nothing itself. An error that wraps
	// [engine.ErrInvalid] is an [ErrUsage].
	Build func(Share) (*engine.Graph, error)
	// Started is told of each attempt's pipeline, once its restore point is in place and before its first record, for
	// [engine.Lookup], [engine.Scan] and [engine.Pipeline.States]: keep it where an HTTP handler or a ticker finds it, see the
	// example. It is called on the goroutine that then processes, so no record passes until it returns: it must not block, and
	// what it panics ends the process. The next attempt has another pipeline, and nothing says when this one has ended: until
	// the next call it answers with what it held, or that it has failed ([engine.ErrFailed]). Before the first call there is none,
	// which is the caller's to bear. An attempt that is not restored has no call. nil means that nobody wants to know.
	Started func(Share, *engine.Pipeline)
}

// id checks the job.
func (j Job) id() (events.JobID, error) {
	if j.Build == nil {
		return "", Usagef("job %q: Build is needed", j.Name)
	}
	id, err := events.ParseJobID(j.Name)
	if err != nil {
		return "", Usagef("job: Name: %w", err)
	}
	return id, nil
}
