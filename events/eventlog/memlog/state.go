package memlog

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// state is what a job keeps beside its log.
type state struct {
	epoch       events.Epoch // the token, with instance; zero when there is none
	instance    events.InstanceID
	expires     time.Time // of the lease
	control     []byte    // newest state of the feed; nil for none
	tasks       map[events.TaskID][]byte
	presences   map[events.TaskID]presence
	fold        fold
	quarantined []eventlog.Entry // in order of arrival
}

type presence struct {
	attempt  events.Attempt
	instance events.InstanceID
	value    []byte
	expires  time.Time
}

type fold struct {
	epoch events.Epoch // zero when nothing was saved
	at    events.Position
	state []byte
}

func newState() state {
	return state{tasks: map[events.TaskID][]byte{}, presences: map[events.TaskID]presence{}}
}

// LatestControl implements [eventlog.Controls].
func (l *Log) LatestControl(ctx context.Context) (c eventlog.Control, ok bool, err error) {
	var b []byte
	err = l.do(ctx, OpLatestControl, func() error {
		b = l.state.control
		return nil
	})
	if err != nil || b == nil {
		return eventlog.Control{}, false, err
	}
	c, err = eventlog.DecodeControl(b)
	return c, err == nil, err
}

// FollowControl implements [eventlog.Controls].
func (l *Log) FollowControl(ctx context.Context, opts eventlog.FollowOptions) iter.Seq2[eventlog.Control, error] {
	return func(yield func(eventlog.Control, error) bool) {
		var seen []byte
		for ctx.Err() == nil {
			var (
				newest  []byte
				changed chan struct{}
			)
			err := l.do(ctx, OpLatestControl, func() error {
				newest, changed = l.state.control, l.controlChanged.c
				return nil
			})
			if err != nil {
				opts.Retry(err, retryWait)
				if pause(ctx, retryWait) != nil {
					return
				}
				continue
			}
			if newest != nil && (seen == nil || &newest[0] != &seen[0]) {
				seen = newest
				if !yield(eventlog.DecodeControl(newest)) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// Assignment implements [eventlog.Tasks].
func (l *Log) Assignment(ctx context.Context, task events.TaskID) (a eventlog.Assignment, ok bool, err error) {
	var b []byte
	err = l.do(ctx, OpAssignment, func() error {
		b = l.state.tasks[task]
		return nil
	})
	if err != nil || b == nil {
		return eventlog.Assignment{}, false, err
	}
	a, err = eventlog.DecodeAssignment(b)
	return a, err == nil, err
}

// Beat implements [eventlog.Tasks].
func (l *Log) Beat(ctx context.Context, task events.TaskID, p eventlog.Presence, ttl time.Duration) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	return l.do(ctx, OpBeat, func() error {
		now := time.Now()
		old, ok := l.state.presences[task]
		if ok && now.Before(old.expires) && old.attempt > p.Attempt {
			if p.Attempt == 0 {
				return nil
			}
			return eventlog.ErrSuperseded
		}
		l.state.presences[task] = presence{p.Attempt, p.Instance, b, now.Add(ttl)}
		return nil
	})
}

// Presences implements [eventlog.Tasks].
func (l *Log) Presences(ctx context.Context, tasks []events.TaskID) (map[events.TaskID]eventlog.Presence, error) {
	found := make(map[events.TaskID]eventlog.Presence, len(tasks))
	err := l.do(ctx, OpPresences, func() error {
		now := time.Now()
		for _, task := range tasks {
			p, ok := l.state.presences[task]
			if !ok || !now.Before(p.expires) {
				continue
			}
			decoded, err := eventlog.DecodePresence(p.value)
			if err != nil {
				return err
			}
			found[task] = decoded
		}
		return nil
	})
	return found, err
}

// LoadFold implements [eventlog.Saved].
func (l *Log) LoadFold(ctx context.Context) (at events.Position, saved []byte, ok bool, err error) {
	err = l.do(ctx, OpLoadFold, func() error {
		at, saved, ok = l.state.fold.at, slices.Clone(l.state.fold.state), l.state.fold.epoch > 0
		return nil
	})
	return at, saved, ok, err
}

// Quarantined implements [eventlog.Saved].
func (l *Log) Quarantined(ctx context.Context, limit int) ([]eventlog.Entry, error) {
	var found []eventlog.Entry
	err := l.do(ctx, OpQuarantined, func() error {
		for _, e := range slices.Backward(l.state.quarantined) {
			if len(found) >= limit {
				break
			}
			found = append(found, e)
		}
		return nil
	})
	return found, err
}
