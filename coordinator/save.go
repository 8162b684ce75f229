package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// When the fold is saved: after so many events, but not more often than every few seconds, since it holds every ack that is
// kept (some megabytes for 10 000 tasks); and after a minute in any case.
const (
	saveEvery    = 5000
	saveAtMost   = 5 * time.Second
	saveInterval = time.Minute

	keySave = "save"
)

// save stores the fold now and then, and behind it trims the log if that is our own.
func (l *loop) save(r *reign) {
	age := l.clock() - r.savedClock
	if r.unsaved >= saveEvery && age >= saveAtMost || r.unsaved > 0 && age >= saveInterval || r.saveNow {
		if l.logLane.ready(l.clock(), keySave) {
			l.logLane.start(r.ctx, l.clock(), keySave, l.saveFold(r))
		}
	}
}

// saveFold copies the fold here, where it stands still, and encodes and stores it elsewhere.
func (l *loop) saveFold(r *reign) effect {
	state, covered := l.state.Clone(), r.unsaved
	r.saveNow = false
	return func(ctx context.Context) result {
		if err := saveState(ctx, r, state); err != nil {
			return l.failed(r, "save the fold", err)
		}
		if l.cfg.trimLog {
			if _, err := r.term.Trim(ctx, state.Position()); err != nil {
				return l.failed(r, "trim the log behind the saved fold", err)
			}
		}
		return result{done: func(l *loop) {
			r.unsaved -= covered
			r.savedClock = l.clock()
		}}
	}
}

func saveState(ctx context.Context, r *reign, state *projection.State) error {
	b, err := state.MarshalBinary()
	if err != nil {
		return err
	}
	if err := r.term.SaveFold(ctx, state.Position(), b); !errors.Is(err, eventlog.ErrFoldBehind) {
		return err
	}
	return nil
}

// saveLast saves the fold at the end of a shutdown; the next start then has nothing to fold.
func (l *loop) saveLast(ctx context.Context, r *reign) {
	if err := saveState(ctx, r, l.state); err != nil && !errors.Is(err, eventlog.ErrFenced) {
		l.log.Warn().Err(err).Msg("save the fold at shutdown")
	}
}
