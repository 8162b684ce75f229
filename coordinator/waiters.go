package coordinator

import (
	"slices"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// waiters are the verbs that wait for the log to say something. It belongs to the loop. Whoever gives up is taken out
// again, so that nothing is left of a verb that has returned.
type waiters struct {
	requests    map[events.RequestID][]*requested
	checkpoints map[events.CheckpointID]*verdict
	acks        map[events.EventID]chan<- acked
}

// requested is a Trigger that waits for the answer to its request.
type requested struct {
	typ     events.CheckpointType
	joining string
	answers chan answer // sent once by the loop; one place, so that the loop never waits
}

// answer is what became of a request.
type answer struct {
	id      events.CheckpointID
	verdict *verdict
	err     error
}

// acked is what became of an answer of a task.
type acked struct {
	outcome projection.Outcome
	err     error
}

// verdict is how a checkpoint ended, for any number of readers.
type verdict struct {
	ended chan struct{} // closed by the loop once err is set; nobody sends
	err   error         // nil means completed
}

func (w *waiters) init() {
	w.requests = make(map[events.RequestID][]*requested)
	w.checkpoints = make(map[events.CheckpointID]*verdict)
	w.acks = make(map[events.EventID]chan<- acked)
}

// watch returns what to wait on for the verdict of a checkpoint.
func (w *waiters) watch(id events.CheckpointID) *verdict {
	v, ok := w.checkpoints[id]
	if !ok {
		v = &verdict{ended: make(chan struct{})}
		w.checkpoints[id] = v
	}
	return v
}

// ended tells all who wait for the checkpoint.
func (w *waiters) ended(id events.CheckpointID, err error) {
	if v, ok := w.checkpoints[id]; ok {
		delete(w.checkpoints, id)
		v.err = err
		close(v.ended)
	}
}

func (w *waiters) forget(id events.RequestID, r *requested) {
	w.requests[id] = slices.DeleteFunc(w.requests[id], func(other *requested) bool { return other == r })
	if len(w.requests[id]) == 0 {
		delete(w.requests, id)
	}
}

// refuse answers all requests that wait.
func (w *waiters) refuse(err error) {
	for id, list := range w.requests {
		for _, r := range list {
			r.answers <- answer{id: events.NoCheckpoint, err: err}
		}
		delete(w.requests, id)
	}
}

// lose answers the acks that wait: what they wait for may never come.
func (w *waiters) lose(err error) {
	for id, c := range w.acks {
		c <- acked{err: err}
		delete(w.acks, id)
	}
}

// answer serves those who wait for this entry.
func (l *loop) answer(entry eventlog.Entry, o projection.Outcome) {
	w := &l.waiters
	if c, ok := w.acks[entry.Envelope.ID]; ok {
		delete(w.acks, entry.Envelope.ID)
		c <- acked{outcome: o}
	}
	if len(w.requests) > 0 {
		switch e := entry.Envelope.Event.(type) {
		case *events.CheckpointRequested:
			if o.Kind == projection.Refused {
				l.answerRequests(e.Request, &RefusedError{Request: e.Request, Reason: events.RefusedQueueFull, Remedy: o.Why})
			}
			l.answerRequests(e.Request, nil)
		case *events.CheckpointTriggered:
			l.answerRequests(e.Request, nil)
		case *events.RequestRefused:
			l.answerRefused(e)
		default: // no other event answers a request
		}
	}
	if len(w.checkpoints) > 0 && o.Ended > 0 {
		for _, id := range slices.Clone(l.state.Ended()) {
			l.settle(id)
		}
	}
}

// answerRefused answers a request of the same id that asked for something else; the others wait for their own answer.
func (l *loop) answerRefused(e *events.RequestRefused) {
	if e.Reason != events.RefusedDuplicate {
		l.answerRequests(e.Request, nil)
		return
	}
	known, ok := l.state.Request(e.Request)
	for _, r := range slices.Clone(l.waiters.requests[e.Request]) {
		if !ok || !r.asks(known) {
			l.waiters.forget(e.Request, r)
			r.answers <- answer{err: &RefusedError{Request: e.Request, Reason: e.Reason, Remedy: e.Remedy}}
		}
	}
}

// asks reports whether the request in the log is this one.
func (r *requested) asks(known projection.Request) bool {
	return !known.Abort && !known.Withdraw && known.Type == r.typ && known.JoiningEvent == r.joining
}

// answerRequests answers who waits for a request, if the fold has its answer, or err says what it is.
func (l *loop) answerRequests(id events.RequestID, err error) {
	for _, r := range slices.Clone(l.waiters.requests[id]) {
		a, ok := answer{id: events.NoCheckpoint, err: err}, err != nil
		if !ok {
			a, ok = l.answered(id, r)
		}
		if ok {
			l.waiters.forget(id, r)
			r.answers <- a
		}
	}
}

// answered is the answer that the fold has to a request.
func (l *loop) answered(id events.RequestID, r *requested) (answer, bool) {
	known, ok := l.state.Request(id)
	if !ok || !r.asks(known) {
		return answer{}, false
	}
	switch known.Status {
	case projection.RequestTriggered:
		return answer{id: known.Checkpoint, verdict: l.verdictOf(known.Checkpoint)}, true
	case projection.RequestRefused:
		err := &RefusedError{Request: id, Reason: known.Reason, Remedy: known.Remedy}
		return answer{id: events.NoCheckpoint, err: err}, true
	default: // it waits
		return answer{}, false
	}
}

// verdictOf returns what to wait on for the verdict of a checkpoint; it has ended if the verdict is known.
func (l *loop) verdictOf(id events.CheckpointID) *verdict {
	v := l.waiters.watch(id)
	l.settle(id)
	return v
}

// settle tells who waits for a checkpoint, if its verdict is known: a completed one when its record says so too, or when
// another coordinator is to see to that.
func (l *loop) settle(id events.CheckpointID) {
	c, ok := l.state.Checkpoint(id)
	switch {
	case !ok:
		l.waiters.ended(id, &FailedError{
			Checkpoint: id, Reason: events.FailedCoordinatorChanged, Text: "the log does not know the checkpoint any more",
		})
	case c.Phase == projection.PhaseFailed:
		l.waiters.ended(id, &FailedError{Checkpoint: id, Reason: c.Reason, Missing: c.Missing, Text: c.Text})
	case c.Phase.Terminal() && (l.reign == nil || !l.reign.unlanded[id]):
		l.waiters.ended(id, nil)
	}
}

// settleAll is settle of all who wait. What is pending here goes on to wait: the next coordinator's start ends it.
func (l *loop) settleAll() {
	for id := range l.waiters.checkpoints {
		l.settle(id)
	}
}
