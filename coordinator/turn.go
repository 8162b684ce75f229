package coordinator

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

// turn decides what is to be done now and hands it on. It is cheap when there is nothing to do, and may run at any time.
func (l *loop) turn() {
	r := l.reign
	if r == nil || !r.started || !l.caught {
		l.wake.Store(0)
		return
	}
	if l.leading != nil {
		close(l.leading)
		l.leading = nil
	}
	l.reportGap(r)
	l.verify(r)
	for _, d := range projection.Decide(l.state, l.timing, l.now, l.gates(r)) {
		l.dispatch(r, d)
	}
	for id := range r.forced {
		l.finalize(r, id, true)
	}
	l.cleanups(r)
	l.land(r)
	l.announce(r)
	l.watchPresence(r)
	l.quarantine(r)
	l.save(r)
	l.setWake()
}

// gates is what Decide cannot see in the log.
func (l *loop) gates(r *reign) projection.Gates {
	return projection.Gates{
		Unverified:      r.doubtful,
		ShuttingDown:    l.draining(),
		DrainOver:       l.drainOver(),
		TriggerInFlight: !r.verified || !l.storeLane.ready(l.clock(), keyTrigger),
		LostTasks:       r.lost,
		NextID:          max(r.nextID, l.floor.nextID),
	}
}

const keyTrigger = "trigger"

// dispatch hands one decision on as an effect.
func (l *loop) dispatch(r *reign, d projection.Decision) {
	switch d := d.(type) {
	case projection.Trigger:
		r.reserving = d.ID
		l.storeLane.start(r.ctx, l.clock(), keyTrigger, l.trigger(r, d))
	case projection.Refuse:
		e := &events.RequestRefused{Epoch: r.term.Epoch(), Request: d.Request, Reason: d.Reason, Remedy: d.Remedy}
		l.logLane.start(r.ctx, l.clock(), fmt.Sprint(d.Key()), l.verdict(r, e))
	case projection.Fail:
		e := &events.CheckpointFailed{Epoch: r.term.Epoch(), Checkpoint: d.ID, Reason: d.Reason, Missing: d.Missing, Text: d.Text}
		l.logLane.start(r.ctx, l.clock(), key("fail:", d.ID), l.verdict(r, e))
	case projection.Lose:
		e := &events.TaskLost{
			Epoch: r.term.Epoch(), Task: d.Task, Attempt: d.Attempt,
			Text: fmt.Sprintf("no sign of life for %s", l.cfg.PresenceTTL),
		}
		l.logLane.start(r.ctx, l.clock(), fmt.Sprintf("lose:%s:%d", d.Task, d.Attempt), l.verdict(r, e))
	case projection.Examine:
		l.examine(r, d)
	case projection.Finalize:
		l.finalize(r, d.ID, false)
	case projection.Retire:
		l.retire(r, d.IDs)
	case projection.Discard:
		l.discard(r, d)
	}
}

func key(what string, id events.CheckpointID) string { return what + id.String() }

// setWake tells the reader when the next decision falls due that needs a look at the log: a timeout or a periodic trigger.
func (l *loop) setWake() {
	next := l.clock() + leadingWait
	if at, ok := projection.NextDue(l.state, l.timing, l.now); ok {
		next = min(next, at)
	}
	l.wake.Store(int64(max(next, 1)))
}

// due are the pending checkpoints whose timeout is over now.
func (l *loop) due() []events.CheckpointID {
	var ids []events.CheckpointID
	for _, d := range projection.Decide(l.state, l.timing, l.clock(), projection.Gates{ShuttingDown: true}) {
		if f, ok := d.(projection.Fail); ok && f.Reason == events.FailedExpired {
			ids = append(ids, f.ID)
		}
	}
	return ids
}
