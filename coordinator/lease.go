package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// won is a term on its way from the lease keeper to the loop.
type won struct {
	term eventlog.Term
	over chan struct{} // closed by the loop when it gives the reign up; nobody sends
}

// standbyPause is the longest wait between two looks at a lease that another holds: so long after it was resigned, or has
// lapsed, a standby leads. A look is one small script.
const standbyPause = 250 * time.Millisecond

// keepLease campaigns while nobody leads and renews while we do, until ctx ends. It tells the loop of each term won and
// lost; the loop decides nothing about the lease. That the lease lapsed because Redis could not be reached does not end
// a reign: as long as nobody else took it, the token is still in force, and every write is checked against it.
func (l *loop) keepLease(ctx context.Context) {
	pause := l.cfg.LeaseTTL / 3
	for ctx.Err() == nil {
		term := l.campaign(ctx, pause)
		if term == nil {
			return
		}
		w := &won{term: term, over: make(chan struct{})}
		if !l.sendTerm(ctx, w) {
			l.giveBack(ctx, term)
			return
		}
		l.renew(ctx, w, pause)
		if !l.sendTerm(ctx, nil) {
			return
		}
	}
}

// giveBack resigns a term that nobody took up, so that a standby need not wait for it.
func (l *loop) giveBack(ctx context.Context, term eventlog.Term) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := term.Resign(ctx); err != nil && !errors.Is(err, eventlog.ErrFenced) {
		l.log.Warn().Err(err).Msg("resign the lease")
	}
}

// campaign returns a term, or nil when ctx ended first.
func (l *loop) campaign(ctx context.Context, pause time.Duration) eventlog.Term {
	for {
		wait := min(pause, 50*time.Millisecond) // until the log is read to its end
		if standing := l.lead.Load(); standing.ready {
			term, err := l.cfg.Log.Campaign(ctx, l.cfg.candidate(standing.maxEpoch))
			if err == nil {
				return term
			}
			wait = l.campaignPause(ctx, err, pause)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// campaignPause says how long to wait after a campaign that was not won: at most until the lease could lapse.
func (l *loop) campaignPause(ctx context.Context, err error, pause time.Duration) time.Duration {
	if held, ok := errors.AsType[*eventlog.LeaseHeldError](err); ok {
		l.log.Debug().Str("leader", held.Instance.String()).Int64("epoch", int64(held.Epoch)).Msg("standing by")
		return min(pause, held.Remaining+time.Millisecond, standbyPause)
	}
	if ctx.Err() == nil {
		l.log.Error().Err(err).Msg("campaign for the lease")
	}
	return pause
}

// renew returns when the term is void, when ctx ended, or when the loop has given the reign up.
func (l *loop) renew(ctx context.Context, w *won, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.over:
			return
		case <-ctx.Done():
			return
		}
		err := w.term.Renew(ctx)
		switch {
		case err == nil:
		case errors.Is(err, eventlog.ErrFenced):
			return
		case ctx.Err() == nil:
			l.log.Warn().Err(err).Msg("renew the lease")
		}
	}
}

func (l *loop) sendTerm(ctx context.Context, w *won) bool {
	select {
	case l.terms <- w:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits and reports whether ctx is still alive then.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
