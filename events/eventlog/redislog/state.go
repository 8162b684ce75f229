package redislog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// LatestControl implements [eventlog.Controls].
func (l *Log) LatestControl(ctx context.Context) (c eventlog.Control, ok bool, err error) {
	var found []redis.XMessage
	err = l.on(ctx, func(node *redis.Client) (err error) {
		found, err = node.XRevRangeN(ctx, l.keys.Control(), "+", "-", 1).Result()
		return err
	})
	if err == nil && len(found) > 0 {
		text, _ := found[0].Values["control"].(string)
		c, err = eventlog.DecodeControl([]byte(text))
		ok = err == nil
	}
	if err != nil {
		return eventlog.Control{}, false, fmt.Errorf("latest control of %s: %w", l.job, err)
	}
	return c, ok, nil
}

// FollowControl implements [eventlog.Controls].
func (l *Log) FollowControl(ctx context.Context, opts eventlog.FollowOptions) iter.Seq2[eventlog.Control, error] {
	return func(yield func(eventlog.Control, error) bool) {
		w := watcher{log: l, opts: opts, page: page{keep: maxControl}}
		defer w.disconnect()
		var retry backoff
		for ctx.Err() == nil {
			c, newer, err := w.next(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				retry.reset()
				if newer && !yield(c, nil) {
					return
				}
			case !l.recover(ctx, &retry, err, opts):
				yield(eventlog.Control{}, fmt.Errorf("follow control of %s: %w", l.job, err))
				return
			default:
				w.disconnect()
			}
		}
	}
}

// maxControl bounds a state of the feed, in bytes; those that we write are far smaller.
const maxControl = 1 << 20

// watcher is one FollowControl.
type watcher struct {
	log  *Log
	opts eventlog.FollowOptions
	seen events.Position // of the state that was yielded last; Start for none
	conn *conn
	page page
}

func (w *watcher) disconnect() {
	if w.conn != nil {
		w.conn.close()
	}
	w.conn = nil
}

// next waits until there is something behind the state seen last, and then takes the newest: what came between is of no use.
// The newest is asked for even when nothing came, since after a failover it can stand before the one seen.
func (w *watcher) next(ctx context.Context) (c eventlog.Control, newer bool, err error) {
	block := w.opts.Wait()
	if w.conn == nil {
		if w.conn, err = w.log.dial(ctx); err != nil {
			return c, false, err
		}
		block = 0
	}
	if w.log.embedded && block > 0 {
		if err := pause(ctx, min(block, pollWait)); err != nil {
			return c, false, err
		}
		block = 0
	}
	if block > 0 {
		w.conn.command("XREAD", "COUNT", "1", "BLOCK", strconv.FormatInt(block.Milliseconds(), 10), "STREAMS",
			w.log.keys.Control(), w.seen.String())
	}
	w.conn.command("XREVRANGE", w.log.keys.Control(), "+", "-", "COUNT", "1")
	if err := w.conn.flush(block); err != nil {
		return c, false, err
	}
	return w.take(block > 0)
}

// take reads the answers.
func (w *watcher) take(blocked bool) (c eventlog.Control, newer bool, err error) {
	if blocked {
		w.page.reset()
		if err := w.page.readStream(w.conn); err != nil {
			return c, false, err
		}
	}
	if err := w.page.readAgain(w.conn); err != nil {
		return c, false, err
	}
	if len(w.page.entries) == 0 {
		w.seen = events.Start
		return c, false, nil
	}
	e := &w.page.entries[0]
	if e.at == w.seen {
		return c, false, nil
	}
	w.seen = e.at
	fields, _ := w.page.fields(e)
	i := slices.IndexFunc(fields, func(f eventlog.Field) bool { return string(f.Name) == "control" })
	if i < 0 {
		w.opts.Retry(errors.New("control state without its field"), 0)
		return c, false, nil
	}
	if c, err = eventlog.DecodeControl(fields[i].Value); err != nil {
		w.opts.Retry(err, 0) // written by a stranger; the next one is whole again
		return c, false, nil
	}
	return c, true, nil
}

// Assignment implements [eventlog.Tasks].
func (l *Log) Assignment(ctx context.Context, task events.TaskID) (a eventlog.Assignment, ok bool, err error) {
	var text string
	err = l.on(ctx, func(node *redis.Client) (err error) {
		text, err = node.HGet(ctx, l.keys.Tasks(), string(task)).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return a, false, nil
	}
	if err == nil {
		a, err = eventlog.DecodeAssignment([]byte(text))
	}
	if err != nil {
		return eventlog.Assignment{}, false, fmt.Errorf("assignment of task %s of %s: %w", task, l.job, err)
	}
	return a, true, nil
}

// Beat implements [eventlog.Tasks].
func (l *Log) Beat(ctx context.Context, task events.TaskID, p eventlog.Presence, ttl time.Duration) error {
	b, err := p.Encode()
	if err == nil {
		_, err = l.run(ctx, "beat", l.scripts.beat, []string{l.keys.Task(task)}, int64(p.Attempt), b, wholeMs(ttl))
	}
	switch {
	case errors.Is(err, eventlog.ErrFenced) && p.Attempt == 0:
		return nil
	case errors.Is(err, eventlog.ErrFenced):
		return fmt.Errorf("beat of task %s of %s, attempt %d: %w", task, l.job, p.Attempt, eventlog.ErrSuperseded)
	case err != nil:
		return fmt.Errorf("beat of task %s of %s: %w", task, l.job, err)
	}
	return nil
}

// Presences implements [eventlog.Tasks].
func (l *Log) Presences(ctx context.Context, tasks []events.TaskID) (map[events.TaskID]eventlog.Presence, error) {
	found := make(map[events.TaskID]eventlog.Presence, len(tasks))
	for step := range slices.Chunk(tasks, eventlog.MaxAppend) {
		keys := make([]string, len(step))
		for i, task := range step {
			keys[i] = l.keys.Task(task)
		}
		var values []any
		err := l.on(ctx, func(node *redis.Client) (err error) {
			values, err = node.MGet(ctx, keys...).Result()
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("presences of %s: %w", l.job, err)
		}
		for i, v := range values {
			text, ok := v.(string)
			if !ok {
				continue
			}
			p, err := eventlog.DecodePresence([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("presence of task %s of %s: %w", step[i], l.job, err)
			}
			found[step[i]] = p
		}
	}
	return found, nil
}
