package main

import (
	"errors"
	"slices"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
)

// logVerb is the flags of "log".
type logVerb struct {
	target   target.Flags
	out      cli.Output
	follow   bool
	from, to string
	kinds    []string
	ended    bool
	limit    int
}

func logCommand() *cobra.Command {
	l := &logVerb{}
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Print the events of the job, in order",
		Long: `Print the events of the job, in order, and below an event the checkpoints that it ended: not every one has an event of
its own, for example those of a task that is lost. With -o json each line is one entry of the log, with its position and its
payload as it stands there; poison entries come with their reason.`,
		Example: `  coordinator log
  coordinator log --follow --ended                  # for alerts
  coordinator log --from 1764453600000-0 -o json > job.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	l.target.Add(cmd)
	l.out.Flag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&l.follow, "follow", "f", false, "go on with what is appended, until interrupted")
	f.StringVar(&l.from, "from", "", "first position, ms-seq; default the beginning")
	f.StringVar(&l.to, "to", "", "last position, ms-seq; default the end")
	f.StringSliceVar(&l.kinds, "kind", nil, "only events of these kinds, and poison for the entries that are none")
	f.BoolVar(&l.ended, "ended", false, "only events that ended a checkpoint, well or badly")
	f.IntVar(&l.limit, "limit", 0, "stop after that many; 0 means never")
	return cmd
}

// errEnough ends the reading.
var errEnough = errors.New("enough")

func (l *logVerb) run(cmd *cobra.Command) error {
	from, to, err := l.positions()
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	t, err := l.target.Open(ctx, zerolog.Nop())
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // the process ends anyway
	printed := 0
	show := func(line logLine) error {
		if !l.wants(line) {
			return nil
		}
		if err := l.out.Print(cmd, line, line.print); err != nil {
			return err
		}
		if printed++; printed == l.limit {
			return errEnough
		}
		return nil
	}
	r, err := newLogReader(ctx, t, from, show)
	if err == nil {
		err = r.read(ctx, to)
	}
	if err == nil && l.follow {
		err = r.follow(ctx)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (l *logVerb) check() error {
	if l.limit < 0 {
		return cli.Usagef("--limit %d is negative", l.limit)
	}
	for _, k := range l.kinds {
		if k != poisonKind && !slices.Contains(events.Kinds(), events.Kind(k)) {
			return cli.Usagef("--kind %q is neither %s nor one of %v", k, poisonKind, events.Kinds())
		}
	}
	return nil
}

// poisonKind chooses the entries that are no events.
const poisonKind = "poison"

func (l *logVerb) positions() (from, to events.Position, err error) {
	from, to = events.Start, events.End
	if l.from != "" {
		if from, err = events.ParsePosition(l.from); err != nil {
			return from, to, cli.Usagef("--from: %w", err)
		}
	}
	if l.to != "" {
		if to, err = events.ParsePosition(l.to); err != nil {
			return from, to, cli.Usagef("--to: %w", err)
		}
		if l.follow {
			return from, to, cli.Usagef("--follow has no end, so it does not go with --to")
		}
	}
	return from, to, nil
}

func (l *logVerb) wants(line logLine) bool {
	if l.ended && len(line.Ended) == 0 {
		return false
	}
	return len(l.kinds) == 0 || slices.Contains(l.kinds, line.kind())
}
