package coordinator

import "time"

// drain is the state of a shutdown.
type drain struct {
	on       bool
	deadline time.Duration // when what is pending is failed by name
	end      time.Duration // when the shutdown is over, whatever is left; the next reign repairs it
}

// drainGrace is how long a shutdown goes on after it has failed what was pending: to append those verdicts.
const drainGrace = 5 * time.Second

// startDrain begins the shutdown, or brings it to its end earlier.
func (l *loop) startDrain(wait time.Duration) {
	now := l.clock()
	if l.drain.on {
		l.drain.deadline = min(l.drain.deadline, now+wait)
		l.drain.end = min(l.drain.end, l.drain.deadline+drainGrace)
		return
	}
	l.drain = drain{on: true, deadline: now + wait, end: now + wait + drainGrace}
	if l.reign == nil {
		return
	}
	l.log.Info().Int("pending", len(l.state.Live())).Dur("at_most_ms", wait).Msg("shutting down; no more triggers")
}

func (l *loop) draining() bool  { return l.drain.on }
func (l *loop) drainOver() bool { return l.drain.on && l.clock() >= l.drain.deadline }

// drained reports whether the loop may end: nothing is live or under way any more, or it took too long.
func (l *loop) drained() bool {
	switch {
	case !l.drain.on:
		return false
	case l.reign == nil || !l.reign.started || l.clock() >= l.drain.end:
		return true
	default:
		landed := len(l.reign.unlanded) == 0 || l.drainOver()
		return len(l.state.Live()) == 0 && landed && l.logLane.idle() && l.storeLane.idle()
	}
}

// nextDrain is when a shutdown has its next deadline.
func (l *loop) nextDrain() (time.Duration, bool) {
	switch {
	case !l.drain.on:
		return 0, false
	case l.drainOver():
		return l.drain.end, true
	default:
		return l.drain.deadline, true
	}
}
