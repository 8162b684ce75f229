package projection

import (
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// history remembers the last MaxHistory ended checkpoints, in the order of their ends, without their handles.
type history struct {
	list      []Checkpoint
	ids       map[events.CheckpointID]struct{}
	forgotten events.CheckpointID // the highest id that fell out; what is not above it may have existed
}

func newHistory() history {
	return history{ids: map[events.CheckpointID]struct{}{}, forgotten: events.NoCheckpoint}
}

func (h *history) add(c Checkpoint) {
	if len(h.list) >= MaxHistory {
		old := h.list[0].ID
		delete(h.ids, old)
		h.forgotten = max(h.forgotten, old)
		h.list = slices.Delete(h.list, 0, 1)
	}
	c.held = nil
	h.list = append(h.list, c)
	h.ids[c.ID] = struct{}{}
}

// withdraw notes that a completed checkpoint was withdrawn: how it ended stays.
func (h *history) withdraw(c *Checkpoint) {
	for i := range slices.Backward(h.list) {
		if h.list[i].ID == c.ID {
			h.list[i].Withdrawn, h.list[i].Text = true, c.Text
			return
		}
	}
}

// knows reports whether the id has ended, or is so old that it may have.
func (h *history) knows(id events.CheckpointID) bool {
	_, ok := h.ids[id]
	return ok || id <= h.forgotten
}

func (h *history) find(id events.CheckpointID) (Checkpoint, bool) {
	if _, ok := h.ids[id]; ok {
		for i := range slices.Backward(h.list) {
			if h.list[i].ID == id {
				return h.list[i], true
			}
		}
	}
	return Checkpoint{}, false
}

func (h *history) clone() history {
	return history{list: slices.Clone(h.list), ids: maps.Clone(h.ids), forgotten: h.forgotten}
}

// Statistics counts what the fold has seen since the first event. A restart does not lose it: it is part of the fold.
type Statistics struct {
	Triggered, Completed, Retired, Discarded int64
	// Withdrawn counts the retired ones that could not be restored.
	Withdrawn int64
	// Acked and Declined count the answers that were taken.
	Acked, Declined int64
	// Requests counts requests to trigger and abort that were taken, Epochs coordinators that started.
	Requests, Epochs int64
	// Quarantined counts entries that could not be decoded; see [State.Skip].
	Quarantined int64
	// Failed counts failures by reason, Refusals refused requests by reason.
	Failed   map[events.FailureReason]int64
	Refusals map[events.RefusalReason]int64
	// Answers counts acks and declines by outcome, Others all other events.
	Answers, Others [outcomeKinds]int64
}

func newStatistics() Statistics {
	return Statistics{Failed: map[events.FailureReason]int64{}, Refusals: map[events.RefusalReason]int64{}}
}

func (s Statistics) clone() Statistics {
	s.Failed = maps.Clone(s.Failed)
	s.Refusals = maps.Clone(s.Refusals)
	return s
}

func (s *Statistics) count(e events.Event, kind OutcomeKind) {
	switch e.(type) {
	case *events.TaskAcked, *events.TaskDeclined:
		s.Answers[kind]++
	default: // all other events share one row
		s.Others[kind]++
	}
}

// Statistics is a copy of the counters.
func (s *State) Statistics() Statistics { return s.stats.clone() }

// History lists the last [MaxHistory] ended checkpoints, oldest end first, as they ended: a completed one that was retired
// or withdrawn since still reads as completed here.
func (s *State) History() []Checkpoint { return slices.Clone(s.history.list) }

// Checkpoint is the view of one checkpoint: live, kept, waiting to be discarded, or (without acks) out of the history.
func (s *State) Checkpoint(id events.CheckpointID) (Checkpoint, bool) {
	if c := s.checkpoints[id]; c != nil {
		return c.view(), true
	}
	return s.history.find(id)
}

// Live lists the pending and finalizing checkpoints and savepoints, by id.
func (s *State) Live() []Checkpoint { return views(s.live) }

// Completed lists the completed checkpoints that are kept, by id; savepoints apart.
func (s *State) Completed() []Checkpoint { return views(s.completed) }

// Savepoints lists the completed savepoints, by id.
func (s *State) Savepoints() []Checkpoint { return views(s.savepoints) }

// Waste lists the failed and retired checkpoints whose state has not been discarded, with their handles, by id.
func (s *State) Waste() []Checkpoint { return views(s.waste) }

// LatestCompleted is the highest id of a completed checkpoint (no savepoint): what a task that registers now restores.
// NoCheckpoint if there is none.
func (s *State) LatestCompleted() events.CheckpointID {
	if len(s.completed) == 0 {
		return events.NoCheckpoint
	}
	return s.completed[len(s.completed)-1].sum.ID
}

func views(list []*checkpoint) []Checkpoint {
	out := make([]Checkpoint, len(list))
	for i, c := range list {
		out[i] = c.view()
	}
	return out
}
