package coordinator

import (
	"errors"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// crossGap deals with entries that are lost. The reign ends in every case, and the next one opens an epoch above
// everything that this process has seen, which ends all that was pending: whatever the lost entries said about it, it is
// settled.
//
//   - failover: the end of the log is gone, so the fold has seen what never happened. It is dropped, and rebuilt from the
//     entries that follow, which are all that there is. Ids and epochs stay above those that were seen: workers may have
//     seen them too.
//   - trimmed, deleted: entries that the fold has not seen are gone, but those that it has seen did happen. It is kept:
//     completed checkpoints stay completed, and each is proven again in the next reign.
func (l *loop) crossGap(gap eventlog.Gap) {
	l.log.Error().Str("cause", string(gap.Cause)).Stringer("after", gap.After).Stringer("before", gap.Before).
		Msg("entries of the log are lost; a new epoch begins with what is known")
	l.floor.nextID = max(l.floor.nextID, l.state.NextID())
	l.floor.epoch = max(l.floor.epoch, l.state.MaxEpoch())
	l.endReign(errors.New("entries of the log are lost"))
	l.waiters.lose(ErrLost)
	l.gap = &gap
	l.caught = false
	if gap.Cause == events.GapFailover {
		l.state = projection.New(l.cfg.Job)
		l.timing = newTiming(l.cfg)
	}
}

// reportGap appends the gap that made the last reign end.
func (l *loop) reportGap(r *reign) {
	if l.gap == nil {
		return
	}
	e := &events.LogGapFound{Epoch: r.term.Epoch(), After: l.gap.After, Before: l.gap.Before, Cause: l.gap.Cause}
	l.logLane.start(r.ctx, l.clock(), "gap:"+l.gap.After.String(), l.verdict(r, e))
	l.gap = nil
	r.saveNow = true
}
