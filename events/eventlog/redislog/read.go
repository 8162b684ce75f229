package redislog

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Read implements [eventlog.Reader].
func (l *Log) Read(ctx context.Context, from, to events.Position) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		if err := l.read(ctx, from, to, yield); err != nil {
			yield(eventlog.Batch{}, fmt.Errorf("read log of %s: %w", l.job, causeOr(ctx, err)))
		}
	}
}

// read yields page after page; it returns nil when the range is exhausted or the loop wants no more.
func (l *Log) read(ctx context.Context, from, to events.Position, yield func(eventlog.Batch, error) bool) error {
	c, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	r := ranger{conn: c, key: l.keys.Log(), to: to.String(), count: firstCount}
	if err := r.send(from); err != nil {
		return err
	}
	for first := true; ; first = false {
		if err := r.page.readAgain(c); err != nil {
			return err
		}
		if first && len(r.page.entries) == 0 {
			return c.mustExist(r.key)
		}
		count, sampled := r.count, r.sampled
		more := len(r.page.entries) == count || r.page.cut
		if more { // the next page comes while this one is decoded
			r.count = r.page.nextCount(count)
			if err := r.send(r.page.last().Next()); err != nil {
				return err
			}
		}
		batch := r.page.batch(sampled, count)
		if len(batch.Entries) == 0 || !yield(batch, nil) || !more {
			return nil
		}
	}
}

// ranger asks for the pages of a range.
type ranger struct {
	*conn
	key, to string
	count   int
	sampled time.Time
	page    page
}

func (r *ranger) send(from events.Position) error {
	r.command("XRANGE", r.key, from.String(), r.to, "COUNT", strconv.Itoa(r.count))
	r.sampled = time.Now()
	return r.flush(0)
}

func (p *page) readAgain(c *conn) error {
	p.reset()
	return p.readRange(c)
}

// last is the position of the page's last entry; there must be one.
func (p *page) last() events.Position { return p.entries[len(p.entries)-1].at }

// mustExist is an error when there is nothing under the key.
func (c *conn) mustExist(key string) error {
	n, err := c.ask("EXISTS", key)
	if err == nil && n == int64(0) {
		err = eventlog.ErrNoLog
	}
	return err
}

// streamState asks what tells how an anchor got lost.
func (c *conn) streamState(key string) (eventlog.StreamState, error) {
	info, err := c.ask("XINFO", "STREAM", key)
	if hasPrefix(err, "ERR no such key") {
		return eventlog.StreamState{}, nil
	}
	if err != nil {
		return eventlog.StreamState{}, err
	}
	list, ok := info.([]any)
	if !ok {
		return eventlog.StreamState{}, fmt.Errorf("%w: XINFO STREAM answered a %T", errProtocol, info)
	}
	state := eventlog.StreamState{Exists: true, Removed: -1}
	var length, added int64 = 0, -1
	for i := 0; i+1 < len(list); i += 2 {
		switch list[i] {
		case "length":
			length, _ = list[i+1].(int64)
		case "entries-added": // since Redis 7
			added, _ = list[i+1].(int64)
		case "last-generated-id":
			text, _ := list[i+1].(string)
			if state.Last, err = events.ParsePosition(text); err != nil {
				return state, err
			}
		}
	}
	if added >= 0 {
		state.Removed = added - length
	}
	state.First, err = c.firstPosition(key)
	return state, err
}

// firstPosition is the position of the first entry; XINFO tells it too, but not on miniredis.
func (c *conn) firstPosition(key string) (events.Position, error) {
	c.command("XRANGE", key, "-", "+", "COUNT", "1")
	if err := c.flush(0); err != nil {
		return events.Position{}, err
	}
	var p page
	if err := p.readRange(c); err != nil || len(p.entries) == 0 {
		return events.Position{}, err
	}
	return p.entries[0].at, nil
}
