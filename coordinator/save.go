package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// When the fold is saved: a start then reads at most that much of the log.
const (
	saveEvery    = 5000
	saveInterval = time.Minute
)

// save stores the fold now and then, and behind it trims the log if that is our own.
func (l *loop) save(r *reign) {
	due := r.unsaved >= saveEvery || r.unsaved > 0 && l.clock()-r.savedClock >= saveInterval
	if due && !l.logLane.runs("save") {
		l.logLane.start(r.ctx, l.clock(), "save", l.saveFold(r))
	}
}

// saveFold encodes the fold here, where it stands still, and stores it elsewhere.
func (l *loop) saveFold(r *reign) effect {
	at := l.state.Position()
	state, err := l.state.MarshalBinary()
	r.unsaved, r.savedClock = 0, l.clock()
	return func(ctx context.Context) result {
		if err == nil {
			err = r.term.SaveFold(ctx, at, state)
		}
		if err != nil && !errors.Is(err, eventlog.ErrFoldBehind) {
			return l.failed(r, "save the fold", err)
		}
		if !l.cfg.trimLog {
			return result{}
		}
		if _, err := r.term.Trim(ctx, at); err != nil {
			return l.failed(r, "trim the log behind the saved fold", err)
		}
		return result{}
	}
}

// mostQuarantining bounds the poison entries that wait for their place in quarantine: a flood of them is cut off, with a
// line in our log; they still stand in the event log itself.
const mostQuarantining = 256

// quarantine puts a poison entry aside and goes on.
func (l *loop) quarantine(entry eventlog.Entry) {
	l.state.Skip(entry.Position)
	l.log.Warn().Stringer("position", entry.Position).Str("reason", string(entry.Poison.Reason)).
		Str("text", entry.Poison.Text).Msg("poison entry in the log; quarantined")
	r := l.reign
	if r == nil || len(l.logLane.waiting) >= mostQuarantining {
		return
	}
	l.logLane.start(r.ctx, l.clock(), "quarantine:"+entry.Position.String(), func(ctx context.Context) result {
		if err := r.insist(ctx, func() error { return r.term.Quarantine(ctx, entry) }); err != nil {
			return l.failed(r, "quarantine a poison entry", err)
		}
		return result{}
	})
}
