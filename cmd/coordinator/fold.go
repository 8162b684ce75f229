package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/cli"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
)

// foldNow folds the log up to its end, from the saved fold if there is one.
func foldNow(ctx context.Context, t *target.Target) (*projection.State, error) {
	state := projection.New(t.Job)
	at, saved, ok, err := t.Log.LoadFold(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		if err := state.UnmarshalBinary(saved); err != nil {
			state, at = projection.New(t.Job), events.Start // of another version: fold everything
		}
	}
	for batch, err := range t.Log.Read(ctx, at.Next(), events.End) {
		if errors.Is(err, eventlog.ErrNoLog) {
			return nil, noLog(t)
		}
		if err != nil {
			return nil, err
		}
		apply(state, batch.Entries, nil)
	}
	return state, nil
}

// noLog says what to do about a job that nobody has written about.
func noLog(t *target.Target) error {
	return fmt.Errorf("job %s has no log yet: is the name right (--job), and has its coordinator ever run? (coordinator serve --job %s --tasks …)", t.Job, t.Job)
}

// apply folds entries and hands each event with its outcome to visit, if that is not nil.
func apply(state *projection.State, entries []eventlog.Entry, visit func(eventlog.Entry, projection.Outcome)) {
	for _, e := range entries {
		if e.Poison != nil {
			state.Skip(e.Position)
			continue
		}
		o := state.Apply(e.Position, e.Envelope)
		if visit != nil {
			visit(e, o)
		}
	}
}

// follow folds what comes after state until done says so, and returns an error when ctx ends first.
func follow(ctx context.Context, t *target.Target, state *projection.State, done func(eventlog.Entry, projection.Outcome) bool) error {
	for batch, err := range t.Log.Follow(ctx, state.Position(), eventlog.FollowOptions{}) {
		if err != nil {
			return err
		}
		if batch.Gap != nil {
			return fmt.Errorf("entries of the log are lost behind %s (%s): ask again", batch.Gap.After, batch.Gap.Cause)
		}
		ended := false
		apply(state, batch.Entries, func(e eventlog.Entry, o projection.Outcome) { ended = ended || done(e, o) })
		if ended {
			return nil
		}
	}
	return context.Cause(ctx)
}

// checkWait refuses a time to wait that is none.
func checkWait(d time.Duration) error {
	if d <= 0 {
		return cli.Usagef("--wait-timeout %s is not positive", d)
	}
	return nil
}

// sayIfNobodyLeads tells who waits for a verdict that nobody is there to give one.
func sayIfNobodyLeads(ctx context.Context, w io.Writer, t *target.Target) {
	l, err := leaseOf(ctx, t)
	if err == nil {
		err = l.leads(t)
	}
	if errors.Is(err, errNobodyLeads) {
		fmt.Fprintf(w, "waiting: %v\n", err)
	}
}
