package memlog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// term is one reign.
type term struct {
	log      *Log
	epoch    events.Epoch
	instance events.InstanceID
	started  events.Position
	ttl      time.Duration
}

// Campaign implements [eventlog.Leader].
func (l *Log) Campaign(ctx context.Context, c eventlog.Candidate) (eventlog.Term, error) {
	if c.Event.IsZero() {
		c.Event = eventlog.NewEventID()
	}
	if _, err := eventlog.ToWire(c.Started(1)); err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	t := &term{log: l, instance: c.Instance, ttl: c.TTL}
	err := l.do(ctx, OpCampaign, func() error {
		s, now := &l.state, time.Now()
		if s.epoch > 0 && s.instance != c.Instance && now.Before(s.expires) {
			return &eventlog.LeaseHeldError{Instance: s.instance, Epoch: s.epoch, Remaining: s.expires.Sub(now)}
		}
		t.epoch = max(s.epoch, c.MinEpoch) + 1
		wires, err := eventlog.ToWire(c.Started(t.epoch))
		if err != nil {
			return err
		}
		s.epoch, s.instance, s.expires = t.epoch, c.Instance, now.Add(c.TTL)
		t.started = l.add(fieldsOf(wires[0]))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("campaign as %s: %w", c.Instance, err)
	}
	return t, nil
}

// Epoch implements [eventlog.Term].
func (t *term) Epoch() events.Epoch { return t.epoch }

// Instance implements [eventlog.Term].
func (t *term) Instance() events.InstanceID { return t.instance }

// Started implements [eventlog.Term].
func (t *term) Started() events.Position { return t.started }

// do runs effect if the token is this term's.
func (t *term) do(ctx context.Context, op Op, effect func(s *state) error) error {
	err := t.log.do(ctx, op, func() error {
		s := &t.log.state
		if s.epoch != t.epoch || s.instance != t.instance {
			return fmt.Errorf("%w: epoch %d of %s met the token %d of %q", eventlog.ErrFenced,
				t.epoch, t.instance, s.epoch, s.instance)
		}
		return effect(s)
	})
	if err != nil {
		return fmt.Errorf("%s in epoch %d: %w", op, t.epoch, err)
	}
	return nil
}

// Append implements [eventlog.Term].
func (t *term) Append(ctx context.Context, envs ...events.Envelope) ([]events.Position, error) {
	wires, err := eventlog.ToWire(envs...)
	if err != nil {
		return nil, fmt.Errorf("append in epoch %d: %w", t.epoch, err)
	}
	positions := make([]events.Position, 0, len(wires))
	for len(wires) > 0 {
		n := eventlog.NextStep(wires)
		done := make([]events.Position, 0, n)
		err := t.do(ctx, OpAppend, func(*state) error {
			if t.log.stream == nil {
				return eventlog.ErrNoLog
			}
			for _, w := range wires[:n] {
				done = append(done, t.log.add(fieldsOf(w)))
			}
			return nil
		})
		if err != nil {
			return positions, err
		}
		positions, wires = append(positions, done...), wires[n:]
	}
	return positions, nil
}

// Renew implements [eventlog.Term].
func (t *term) Renew(ctx context.Context) error {
	return t.do(ctx, OpRenew, func(s *state) error {
		s.expires = time.Now().Add(t.ttl)
		return nil
	})
}

// Resign implements [eventlog.Term].
func (t *term) Resign(ctx context.Context) error {
	return t.do(ctx, OpResign, func(s *state) error {
		s.expires = time.Time{}
		return nil
	})
}

// WriteControl implements [eventlog.Term].
func (t *term) WriteControl(ctx context.Context, c eventlog.Control) error {
	c.Epoch, c.Instance = t.epoch, t.instance
	b, err := c.Encode()
	if err != nil {
		return err
	}
	return t.do(ctx, OpWriteControl, func(s *state) error {
		s.control = b
		t.log.controlChanged.signal()
		return nil
	})
}

// WriteTasks implements [eventlog.Term].
func (t *term) WriteTasks(ctx context.Context, tasks map[events.TaskID]eventlog.Assignment) error {
	encoded := make(map[events.TaskID][]byte, len(tasks))
	for task, a := range tasks {
		b, err := a.Encode()
		if err != nil {
			return err
		}
		encoded[task] = b
	}
	return t.do(ctx, OpWriteTasks, func(s *state) error {
		maps.Copy(s.tasks, encoded)
		return nil
	})
}

// KeepTasks implements [eventlog.Term].
func (t *term) KeepTasks(ctx context.Context, tasks []events.TaskID) error {
	return t.do(ctx, OpKeepTasks, func(s *state) error {
		maps.DeleteFunc(s.tasks, func(task events.TaskID, _ []byte) bool { return !slices.Contains(tasks, task) })
		return nil
	})
}

// SaveFold implements [eventlog.Term].
func (t *term) SaveFold(ctx context.Context, at events.Position, saved []byte) error {
	saved = slices.Clone(saved)
	return t.do(ctx, OpSaveFold, func(s *state) error {
		if s.fold.epoch == t.epoch && at.Before(s.fold.at) {
			return fmt.Errorf("%w: at %s, not %s", eventlog.ErrFoldBehind, s.fold.at, at)
		}
		s.fold = fold{t.epoch, at, saved}
		return nil
	})
}

// Quarantine implements [eventlog.Term].
func (t *term) Quarantine(ctx context.Context, entries ...eventlog.Entry) error {
	return t.do(ctx, OpQuarantine, func(s *state) error {
		for _, e := range entries {
			known := slices.ContainsFunc(s.quarantined, func(q eventlog.Entry) bool { return q.Position == e.Position })
			if e.Poison != nil && !known {
				s.quarantined = append(s.quarantined, e)
			}
		}
		s.quarantined = slices.Clone(s.quarantined[max(0, len(s.quarantined)-eventlog.MaxQuarantine):])
		return nil
	})
}

// Trim implements [eventlog.Term].
func (t *term) Trim(ctx context.Context, before events.Position) (removed int64, err error) {
	err = t.do(ctx, OpTrim, func(s *state) error {
		if s.fold.epoch == 0 || before.After(s.fold.at) {
			return fmt.Errorf("%w: before %s, saved at %s", eventlog.ErrNotCovered, before, s.fold.at)
		}
		if t.log.stream != nil {
			removed = t.log.stream.trim(before)
		}
		return nil
	})
	return removed, err
}
