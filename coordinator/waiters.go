package coordinator

import (
	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

// waiters are the verbs that wait for the log to say something. It belongs to the loop; each channel has one place, so
// that an answer never waits for its reader, and is answered once.
type waiters struct {
	requests    map[events.RequestID]requested
	checkpoints map[events.CheckpointID][]chan<- error
	acks        map[events.EventID]chan<- projection.Outcome
}

// requested is a Trigger that waits: first for the id, then for the verdict.
type requested struct {
	id      chan<- answer
	verdict chan<- error
}

// answer is what became of a request.
type answer struct {
	id  events.CheckpointID
	err error
}

func (w *waiters) init() {
	w.requests = make(map[events.RequestID]requested)
	w.checkpoints = make(map[events.CheckpointID][]chan<- error)
	w.acks = make(map[events.EventID]chan<- projection.Outcome)
}

// answer serves those who wait for this entry. A completed checkpoint is answered later, when its record says so too.
func (w *waiters) answer(s *projection.State, entry eventlog.Entry, o projection.Outcome) {
	if c, ok := w.acks[entry.Envelope.ID]; ok {
		delete(w.acks, entry.Envelope.ID)
		c <- o
	}
	switch e := entry.Envelope.Event.(type) {
	case *events.CheckpointTriggered:
		if o.Kind == projection.Applied {
			w.request(e.Request, answer{id: e.Checkpoint})
		}
	case *events.RequestRefused:
		w.request(e.Request, answer{
			id: events.NoCheckpoint, err: &RefusedError{Request: e.Request, Reason: e.Reason, Remedy: e.Remedy},
		})
	}
	for _, id := range s.Ended() {
		if c, ok := s.Checkpoint(id); ok && c.Phase == projection.PhaseFailed {
			w.ended(id, &FailedError{Checkpoint: id, Reason: c.Reason, Missing: c.Missing, Text: c.Text})
		}
	}
}

func (w *waiters) request(id events.RequestID, a answer) {
	r, ok := w.requests[id]
	if !ok {
		return
	}
	delete(w.requests, id)
	if a.err == nil {
		w.checkpoints[a.id] = append(w.checkpoints[a.id], r.verdict)
	}
	r.id <- a
}

// ended tells all who wait for the checkpoint; nil means that it completed.
func (w *waiters) ended(id events.CheckpointID, err error) {
	for _, c := range w.checkpoints[id] {
		c <- err
	}
	delete(w.checkpoints, id)
}

// endReign answers everyone: what was pending here is pending nowhere.
func (w *waiters) endReign() {
	for id, r := range w.requests {
		r.id <- answer{id: events.NoCheckpoint, err: ErrNotLeading}
		delete(w.requests, id)
	}
	for id := range w.checkpoints {
		w.ended(id, &FailedError{Checkpoint: id, Reason: events.FailedCoordinatorChanged})
	}
}
