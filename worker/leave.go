package worker

import (
	"context"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// lastWords bounds what an attempt says when it ends: declines and a farewell.
const lastWords = 3 * time.Second

// leave ends an attempt. A shutdown waits for the cut that is being stored; an attempt that failed or was replaced does
// not. What is pending and will not be answered is declined, so that nobody waits for the timeout; a replaced attempt is
// void and says nothing.
func (a *attempt) leave(ctx context.Context, cause error, shutdown bool) {
	if a.cutting != nil {
		a.awaitCut(shutdown)
	}
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	if isVoid(cause) || cause == nil {
		return
	}
	reason, text := events.DeclinedOther, cause.Error()
	if shutdown {
		reason, text = events.DeclinedClosing, "the worker is shutting down"
	}
	for _, p := range a.last.Pending {
		if p.ID > a.newest && !slices.Contains(a.cuts, p.ID) {
			a.decline(ctx, p, reason, text)
		}
	}
	// A life of a millisecond: the coordinator sees at once that nobody is there.
	gone := eventlog.Presence{Instance: a.assigned.Instance, Attempt: a.assigned.Attempt, Phase: "stopped"}
	if err := a.cfg.Log.Beat(ctx, a.cfg.Task, gone, time.Millisecond); err != nil {
		a.log.Debug().Err(err).Msg("say farewell")
	}
}

// awaitCut waits for the cut under way, or ends it.
func (a *attempt) awaitCut(shutdown bool) {
	if shutdown {
		timer := time.NewTimer(a.cfg.DrainTimeout)
		defer timer.Stop()
		select {
		case ans := <-a.answers:
			a.answered(ans)
			return
		case <-timer.C:
			a.log.Warn().Stringer("checkpoint", a.cutting.pending.ID).Msg("cut was not stored within the drain timeout")
		}
	}
	a.cutting.cancel()
	a.answered(<-a.answers)
}
