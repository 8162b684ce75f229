package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/cmd/internal/target"
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
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
			return nil, fmt.Errorf("job %s has no log yet: has its coordinator ever run? (coordinator serve --job %s --tasks …)", t.Job, t.Job)
		}
		if err != nil {
			return nil, err
		}
		apply(state, batch.Entries, nil)
	}
	return state, nil
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
