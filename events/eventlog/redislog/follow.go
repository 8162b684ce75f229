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

// pollWait is between two reads in embedded mode.
const pollWait = 20 * time.Millisecond

// luaAnchor tells whether the anchor is still there, by the event id that it has: after a failover another event
// could stand at the same position. It sends no payload, which XRANGE would.
//
//	KEYS    log
//	ARGV    1 position, 2 field of id
//	returns the event id, empty if the entry has none, nil if there is no entry
//
// It goes out as text with every read: EVALSHA would have to be prepared for an answer NOSCRIPT after each restart.
const luaAnchor = `local e = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not e then return false end
local id = ''
for i = 1, #e[2], 2 do if e[2][i] == ARGV[2] then id = e[2][i + 1] end end
return id`

// anchor is the entry that must still be there when what is behind it is read.
type anchor struct {
	at    events.Position // Start: there is none
	id    string
	known bool // id is known; not so for the position that Follow was given
}

// follower is one Follow: what it has read, over all its connections.
type follower struct {
	log    *Log
	opts   eventlog.FollowOptions
	anchor anchor
	count  int
	page   page

	conn *conn // nil between two connections
	// sent says that a read is on its way, for asked entries, since sampled.
	sent    bool
	asked   int
	sampled time.Time
	fresh   bool // the next read must not wait: the receiver wants to know where it stands
}

// Follow implements [eventlog.Reader].
func (l *Log) Follow(ctx context.Context, after events.Position, opts eventlog.FollowOptions) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		f := follower{log: l, opts: opts, anchor: anchor{at: after}, count: firstCount}
		defer f.disconnect()
		var retry backoff
		for ctx.Err() == nil {
			batch, err := f.next(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				retry.reset()
				if !yield(batch, nil) {
					return
				}
			case !l.recover(ctx, &retry, err, opts):
				yield(eventlog.Batch{}, fmt.Errorf("follow log of %s: %w", l.job, err))
				return
			default:
				f.disconnect()
			}
		}
	}
}

// recover waits before the next connection; false means that no waiting repairs the error.
func (l *Log) recover(ctx context.Context, retry *backoff, err error, opts eventlog.FollowOptions) bool {
	if !canPass(err) {
		return false
	}
	if moved(err) {
		l.reload(ctx)
	}
	wait := retry.next()
	opts.Retry(err, wait)
	_ = pause(ctx, wait) // the caller looks at ctx
	return true
}

func (f *follower) disconnect() {
	if f.conn != nil {
		f.conn.close()
	}
	f.conn, f.sent = nil, false
}

// next reads the next batch; it waits as long as the receiver lets it. After an error the caller disconnects.
func (f *follower) next(ctx context.Context) (eventlog.Batch, error) {
	if f.conn == nil {
		c, err := f.log.dial(ctx)
		if err != nil {
			return eventlog.Batch{}, err
		}
		f.conn, f.fresh = c, true
	}
	deadline := time.Now().Add(f.opts.Wait())
	for {
		intact, err := f.turn(time.Until(deadline))
		if err != nil {
			return eventlog.Batch{}, err
		}
		if !intact {
			return f.gap()
		}
		if len(f.page.entries) > 0 || f.fresh || !f.log.embedded || !time.Now().Before(deadline) {
			return f.deliver()
		}
		if err := pause(ctx, min(pollWait, time.Until(deadline))); err != nil {
			return eventlog.Batch{}, err
		}
	}
}

// turn sends a read unless one is on its way, and takes its answer; intact is false when the anchor is gone.
func (f *follower) turn(wait time.Duration) (intact bool, err error) {
	if !f.sent {
		block := max(wait, eventlog.MinWait)
		if f.fresh || f.log.embedded {
			block = 0
		}
		if err := f.send(f.anchor, block); err != nil {
			return false, err
		}
	}
	f.sent = false
	f.page.reset()
	if err := f.page.readStream(f.conn); err != nil {
		return false, err
	}
	if f.anchor.at.IsZero() {
		return true, nil
	}
	found, err := f.conn.reply()
	if err != nil {
		return false, err
	}
	id, ok := found.(string)
	if !ok || f.anchor.known && id != f.anchor.id {
		return false, nil
	}
	f.anchor.id, f.anchor.known = id, true
	return true, nil
}

// send asks for what is behind the anchor, and for the anchor itself; a block of 0 does not wait.
func (f *follower) send(a anchor, block time.Duration) error {
	key, at := f.log.keys.Log(), a.at.String()
	args := append(make([]string, 0, 9), "XREAD", "COUNT", strconv.Itoa(f.count))
	if block > 0 {
		args = append(args, "BLOCK", strconv.FormatInt(block.Milliseconds(), 10))
	}
	f.conn.command(append(args, "STREAMS", key, at)...)
	if !a.at.IsZero() {
		f.conn.command("EVAL", luaAnchor, "1", key, at, events.FieldID)
	}
	f.sent, f.asked, f.sampled = true, f.count, time.Now()
	return f.conn.flush(block)
}

// deliver moves the anchor, asks for the next page at once if there is one, and decodes this one meanwhile.
func (f *follower) deliver() (eventlog.Batch, error) {
	sampled, asked := f.sampled, f.asked
	full := len(f.page.entries) == asked || f.page.cut
	f.count = f.page.nextCount(asked)
	f.fresh = full
	if n := len(f.page.entries); n > 0 {
		e := &f.page.entries[n-1]
		f.anchor = anchor{e.at, string(f.page.value(e.id)), true}
	}
	if full {
		if err := f.send(f.anchor, 0); err != nil {
			f.disconnect() // what was read is good; the next call connects again
		}
	}
	return f.page.batch(sampled, asked), nil
}

// gap finds out how the anchor got lost, and goes back to the start of what is there.
func (f *follower) gap() (eventlog.Batch, error) {
	state, err := f.conn.streamState(f.log.keys.Log())
	if err != nil {
		return eventlog.Batch{}, err
	}
	lost := state.Gap(f.anchor.at)
	f.anchor, f.fresh = anchor{}, true
	return eventlog.Batch{Sampled: f.sampled, Gap: lost}, nil
}
