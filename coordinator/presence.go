package coordinator

import (
	"context"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

const keyPresence = "presence"

// taskRun is one attempt of one task.
type taskRun struct {
	task    events.TaskID
	attempt events.Attempt
}

func expectsLife(t projection.Task) bool {
	return t.Phase == projection.TaskIsRegistered || t.Phase == projection.TaskIsRestored
}

// watchPresence asks for the signs of life of all tasks that should have one, thrice in the life of one.
func (l *loop) watchPresence(r *reign) {
	if l.clock() < r.looked+l.cfg.PresenceTTL/3 || l.draining() || !l.logLane.ready(l.clock(), keyPresence) {
		return
	}
	r.looked = l.clock()
	var names []events.TaskID
	for _, t := range l.state.Tasks() {
		if expectsLife(t) {
			names = append(names, t.ID)
		}
	}
	if len(names) == 0 {
		return
	}
	l.logLane.start(r.ctx, l.clock(), keyPresence, func(ctx context.Context) result {
		seen, err := l.cfg.Log.Presences(ctx, names)
		if err != nil {
			return l.failed(r, "read the signs of life", err)
		}
		return result{done: func(l *loop) {
			if l.reign == r {
				l.notePresence(r, seen)
			}
		}}
	})
}

// notePresence declares lost what has been without a sign of life in two looks that are a third of its life apart. One
// look is not enough: a worker registers just before or after it beats.
func (l *loop) notePresence(r *reign, seen map[events.TaskID]eventlog.Presence) {
	now := l.clock()
	r.lost = nil
	for _, t := range l.state.Tasks() {
		p, alive := seen[t.ID]
		alive = alive && p.Instance == t.Instance
		run := taskRun{t.ID, t.Attempt}
		if alive || !expectsLife(t) {
			delete(r.missing, run)
			continue
		}
		since, ok := r.missing[run]
		if !ok {
			r.missing[run] = now
			continue
		}
		if now-since >= l.cfg.PresenceTTL/3 {
			r.lost = append(r.lost, events.TaskAttempt{Task: t.ID, Attempt: t.Attempt})
		}
	}
}
