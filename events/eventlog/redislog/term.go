package redislog

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// trimStep is how many entries one approximate trim removes at most: some milliseconds of the server's time.
const trimStep = 20_000

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
	t := &term{log: l, instance: c.Instance, ttl: c.TTL}
	if err := l.campaign(ctx, c, t); err != nil {
		return nil, fmt.Errorf("campaign for %s as %s: %w", l.job, c.Instance, err)
	}
	return t, nil
}

func (l *Log) campaign(ctx context.Context, c eventlog.Candidate, t *term) error {
	head, tail, err := splitStarted(c)
	if err != nil {
		return err
	}
	reply, err := l.run(ctx, "campaign", l.scripts.campaign, []string{l.keys.Leader(), l.keys.Log()},
		string(c.Instance), wholeMs(c.TTL), int64(c.MinEpoch), events.FieldID, events.FieldPayload, string(c.Event), head, tail)
	if err != nil {
		return err
	}
	if len(reply) != 2 {
		return fmt.Errorf("script answered %q", reply)
	}
	if t.epoch, err = events.ParseEpoch(reply[0]); err != nil {
		return err
	}
	t.started, err = events.ParsePosition(reply[1])
	return err
}

// splitStarted gives the payload of coordinator_started before and behind the epoch, which only the script knows. The
// epoch is the first member of data, and nothing before data can hold such text. Two different epochs must give the
// same two parts, so a change of the codec cannot slip through.
func splitStarted(c eventlog.Candidate) (head, tail []byte, err error) {
	const low, high = 1, 9_007_199_254_740_991
	for _, epoch := range []events.Epoch{low, high} {
		wires, err := eventlog.ToWire(c.Started(epoch))
		if err != nil {
			return nil, nil, err
		}
		mark := []byte(`"data":{"epoch":`)
		h, t, ok := bytes.Cut(wires[0].Payload, append(mark, epoch.String()...))
		h = append(slices.Clip(h), mark...)
		if !ok || epoch == high && (!bytes.Equal(h, head) || !bytes.Equal(t, tail)) {
			return nil, nil, fmt.Errorf("payload of %s has no place for the epoch", events.KindCoordinatorStarted)
		}
		head, tail = h, t
	}
	return head, tail, nil
}

// Epoch implements [eventlog.Term].
func (t *term) Epoch() events.Epoch { return t.epoch }

// Instance implements [eventlog.Term].
func (t *term) Instance() events.InstanceID { return t.instance }

// Started implements [eventlog.Term].
func (t *term) Started() events.Position { return t.started }

// run runs a fenced script: the leader key and the token come first.
func (t *term) run(ctx context.Context, op string, s *redis.Script, keys []string, args ...any) ([]string, error) {
	keys = append([]string{t.log.keys.Leader()}, keys...)
	args = append([]any{t.epoch.String(), string(t.instance)}, args...)
	reply, err := t.log.run(ctx, op, s, keys, args...)
	if err != nil {
		return nil, fmt.Errorf("%s for %s in epoch %d: %w", op, t.log.job, t.epoch, err)
	}
	return reply, nil
}

// Append implements [eventlog.Term].
func (t *term) Append(ctx context.Context, envs ...events.Envelope) ([]events.Position, error) {
	wires, err := eventlog.ToWire(envs...)
	if err != nil {
		return nil, fmt.Errorf("append for %s in epoch %d: %w", t.log.job, t.epoch, err)
	}
	positions := make([]events.Position, 0, len(wires))
	for len(wires) > 0 {
		n := eventlog.NextStep(wires)
		args := make([]any, 0, 2+2*n)
		args = append(args, events.FieldID, events.FieldPayload)
		for _, w := range wires[:n] {
			args = append(args, string(w.ID), w.Payload)
		}
		reply, err := t.run(ctx, "append", t.log.scripts.append, []string{t.log.keys.Log()}, args...)
		if err != nil {
			return positions, err
		}
		for _, text := range reply {
			at, err := events.ParsePosition(text)
			if err != nil {
				return positions, fmt.Errorf("append for %s: %w", t.log.job, err)
			}
			positions = append(positions, at)
		}
		wires = wires[n:]
	}
	return positions, nil
}

// Renew implements [eventlog.Term].
func (t *term) Renew(ctx context.Context) error {
	_, err := t.run(ctx, "renew lease", t.log.scripts.renew, nil, wholeMs(t.ttl))
	return err
}

// Resign implements [eventlog.Term].
func (t *term) Resign(ctx context.Context) error {
	_, err := t.run(ctx, "resign", t.log.scripts.renew, nil, 0)
	return err
}

// WriteControl implements [eventlog.Term].
func (t *term) WriteControl(ctx context.Context, c eventlog.Control) error {
	c.Epoch, c.Instance = t.epoch, t.instance
	b, err := c.Encode()
	if err != nil {
		return err
	}
	_, err = t.run(ctx, "write control", t.log.scripts.control, []string{t.log.keys.Control()}, eventlog.MaxControl, b)
	return err
}

// WriteTasks implements [eventlog.Term].
func (t *term) WriteTasks(ctx context.Context, tasks map[events.TaskID]eventlog.Assignment) error {
	args := make([]any, 0, 2*len(tasks))
	for task, a := range tasks {
		b, err := a.Encode()
		if err != nil {
			return err
		}
		args = append(args, string(task), b)
	}
	for step := range slices.Chunk(args, 2*eventlog.MaxAppend) {
		if _, err := t.run(ctx, "write tasks", t.log.scripts.tasks, []string{t.log.keys.Tasks()}, step...); err != nil {
			return err
		}
	}
	return nil
}

// KeepTasks implements [eventlog.Term].
func (t *term) KeepTasks(ctx context.Context, tasks []events.TaskID) error {
	args := make([]any, len(tasks))
	for i, task := range tasks {
		args[i] = string(task)
	}
	_, err := t.run(ctx, "keep tasks", t.log.scripts.keep, []string{t.log.keys.Tasks()}, args...)
	return err
}

// SaveFold implements [eventlog.Term].
func (t *term) SaveFold(ctx context.Context, at events.Position, state []byte) error {
	_, err := t.run(ctx, "save fold", t.log.scripts.fold, []string{t.log.keys.Fold()}, at.String(), state)
	return err
}

// Trim implements [eventlog.Term].
func (t *term) Trim(ctx context.Context, before events.Position) (removed int64, err error) {
	keys := []string{t.log.keys.Fold(), t.log.keys.Log()}
	for limit := trimStep; ; {
		reply, err := t.run(ctx, "trim", t.log.scripts.trim, keys, before.String(), limit)
		if err != nil {
			return removed, err
		}
		if len(reply) != 1 {
			return removed, fmt.Errorf("trim: script answered %q", reply)
		}
		n, err := strconv.ParseInt(reply[0], 10, 64)
		if err != nil {
			return removed, fmt.Errorf("trim: %w", err)
		}
		removed += n
		switch {
		case limit == 0:
			return removed, nil
		case n == 0:
			limit = 0 // whole nodes are gone; the rest is less than one
		}
	}
}

// wholeMs is a time to live in milliseconds, at least one.
func wholeMs(d time.Duration) int64 { return max(d.Milliseconds(), 1) }

func milliseconds(s string) time.Duration {
	n, _ := strconv.ParseInt(s, 10, 64) // shown only
	return time.Duration(n) * time.Millisecond
}
