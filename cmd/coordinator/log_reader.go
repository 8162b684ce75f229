package main

import (
	"context"
	"errors"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/target"
	"github.com/tidemark-stream/tidemark/projection"
)

// logReader reads the log and folds along, to say which event ended what.
type logReader struct {
	target *target.Target
	state  *projection.State
	from   events.Position // what stands before it is folded and not shown
	show   func(logLine) error
}

// newLogReader starts with the saved fold if that ends before from, else with nothing.
func newLogReader(ctx context.Context, t *target.Target, from events.Position, show func(logLine) error) (*logReader, error) {
	r := &logReader{target: t, state: projection.New(t.Job), from: from, show: show}
	at, saved, ok, err := t.Log.LoadFold(ctx)
	if err != nil || !ok || !at.Before(from) {
		return r, err
	}
	if err := r.state.UnmarshalBinary(saved); err != nil {
		r.state = projection.New(t.Job) // of another version: fold everything
	}
	return r, nil
}

// read shows what there is up to a position.
func (r *logReader) read(ctx context.Context, to events.Position) error {
	for batch, err := range r.target.Log.Read(ctx, r.state.Position().Next(), to) {
		if errors.Is(err, eventlog.ErrNoLog) {
			return noLog(r.target)
		}
		if err != nil {
			return err
		}
		if err := r.take(batch.Entries); err != nil {
			return err
		}
	}
	return nil
}

// follow shows what comes until ctx ends, which is no error: it is how a person ends it.
func (r *logReader) follow(ctx context.Context) error {
	for batch, err := range r.target.Log.Follow(ctx, r.state.Position(), eventlog.FollowOptions{}) {
		if err != nil {
			return err
		}
		if err := r.take(batch.Entries); err != nil {
			return err
		}
	}
	return nil
}

func (r *logReader) take(entries []eventlog.Entry) error {
	for _, e := range entries {
		var ended []endedCheckpoint
		if e.Poison != nil {
			r.state.Skip(e.Position)
		} else if o := r.state.Apply(e.Position, e.Envelope); o.Ended > 0 {
			ended = endedBy(r.state)
		}
		if e.Position.Before(r.from) {
			continue
		}
		if err := r.show(lineOf(e, ended)); err != nil {
			return err
		}
	}
	return nil
}

// endedCheckpoint is how a checkpoint ended.
type endedCheckpoint struct {
	Checkpoint events.CheckpointID  `json:"checkpoint"`
	Status     string               `json:"status"`
	Reason     events.FailureReason `json:"reason,omitempty"`
}

// endedBy is what the event that was folded last has ended.
func endedBy(s *projection.State) (all []endedCheckpoint) {
	for _, id := range s.Ended() {
		if c, ok := s.Checkpoint(id); ok {
			all = append(all, endedCheckpoint{id, c.Phase.String(), c.Reason})
		}
	}
	return all
}
