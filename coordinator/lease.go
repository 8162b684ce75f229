package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// keepLease campaigns while nobody leads and renews while we do, until ctx ends. It tells the loop of each term won and
// lost; the loop decides nothing about the lease. That the lease lapsed because Redis could not be reached does not end
// a reign: as long as nobody else took it, the token is still in force, and every write is checked against it.
func (l *loop) keepLease(ctx context.Context) {
	pause := l.cfg.LeaseTTL / 3
	for ctx.Err() == nil {
		term := l.campaign(ctx, pause)
		if term == nil || !l.sendTerm(ctx, term) {
			return
		}
		l.renew(ctx, term, pause)
		if !l.sendTerm(ctx, nil) {
			return
		}
	}
}

// campaign returns a term, or nil when ctx ended first.
func (l *loop) campaign(ctx context.Context, pause time.Duration) eventlog.Term {
	for {
		wait := min(pause, 50*time.Millisecond) // until the log is read to its end
		if standing := l.lead.Load(); standing.ready {
			term, err := l.cfg.Log.Campaign(ctx, eventlog.Candidate{
				Instance: l.cfg.Instance, Build: l.cfg.Build, Policy: l.cfg.policy(), TTL: l.cfg.LeaseTTL,
				MinEpoch: standing.maxEpoch, At: time.Now().UnixMilli(),
			})
			if err == nil {
				return term
			}
			wait = l.campaignPause(err, pause)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// campaignPause says how long to wait after a campaign that was not won: at most until the lease could lapse.
func (l *loop) campaignPause(err error, pause time.Duration) time.Duration {
	var held *eventlog.LeaseHeldError
	if errors.As(err, &held) {
		l.log.Debug().Str("leader", held.Instance.String()).Int64("epoch", int64(held.Epoch)).Msg("standing by")
		return min(pause, held.Remaining+time.Millisecond)
	}
	l.log.Error().Err(err).Msg("campaign for the lease")
	return pause
}

// renew returns when the term is void or ctx ended, or when the reign of the term has been given up.
func (l *loop) renew(ctx context.Context, term eventlog.Term, pause time.Duration) {
	for sleep(ctx, pause) {
		if l.lead.Load().maxEpoch > term.Epoch() {
			return
		}
		err := term.Renew(ctx)
		switch {
		case err == nil:
		case errors.Is(err, eventlog.ErrFenced):
			return
		case ctx.Err() == nil:
			l.log.Warn().Err(err).Msg("renew the lease")
		}
	}
}

func (l *loop) sendTerm(ctx context.Context, term eventlog.Term) bool {
	select {
	case l.terms <- term:
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
		return true
	case <-ctx.Done():
		return false
	}
}
