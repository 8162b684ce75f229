package projection

import (
	"maps"
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// checkpoints codes every row of the table by id; the lists follow from the phases.
func (c *coder) checkpoints(s *State) {
	var rows []*checkpoint
	for _, p := range s.checkpoints {
		rows = append(rows, p)
	}
	slices.SortFunc(rows, compareIDs)
	list(c, &rows, func(row **checkpoint) {
		if c.reading {
			*row = &checkpoint{}
		}
		p := *row
		c.summary(&p.sum)
		list(c, &p.required, func(r *events.TaskAttempt) {
			text(c, &r.Task)
			number(c, &r.Attempt)
			text(c, &r.Unknown)
		})
		list(c, &p.slots, func(x *slot) { c.slot(x) })
		list(c, &p.carried, func(x *slot) { c.slot(x) })
		c.names(p)
		if c.reading && c.err == nil {
			s.place(c, p)
		}
	})
}

// names codes which task opened which slot of a checkpoint by count; a slot may hold a decline and no ack.
func (c *coder) names(p *checkpoint) {
	if !p.byCount() {
		if c.reading && len(p.slots) != len(p.required) {
			c.fail("slots without tasks")
		}
		return
	}
	names := make([]events.TaskID, len(p.slots))
	for id, i := range p.byName {
		names[i] = id
	}
	c.taskIDs(&names)
	if !c.reading {
		return
	}
	if len(names) != len(p.slots) {
		c.fail("slots without names")
		return
	}
	p.byName = make(map[events.TaskID]int32, len(names))
	for i, id := range names {
		p.byName[id] = int32(i) // bounded by the length of the fold
	}
}

// place puts a row that was read into its list.
func (s *State) place(c *coder, p *checkpoint) {
	for i := range p.carried {
		if p.carried[i].ack == nil {
			c.fail("a carried slot is empty")
			return
		}
	}
	s.checkpoints[p.sum.ID] = p
	switch p.sum.Phase {
	case PhasePending, PhaseFinalizing:
		s.live = append(s.live, p)
	case PhaseCompleted:
		if p.savepoint() {
			s.savepoints = append(s.savepoints, p)
		} else {
			s.completed = append(s.completed, p)
		}
	case PhaseFailed, PhaseRetired:
		s.waste = append(s.waste, p)
	default:
		c.fail("a checkpoint without a phase")
	}
}

func (c *coder) summary(v *Checkpoint) {
	number(c, &v.ID)
	text(c, &v.Type)
	number(c, &v.Phase)
	number(c, &v.Epoch)
	text(c, &v.Request)
	text(c, &v.Cause)
	number(c, &v.Timeout)
	text(c, &v.JoiningEvent)
	c.position(&v.Triggered)
	number(c, &v.TriggeredAt)
	number(c, &v.Required)
	number(c, &v.Acked)
	text(c, &v.Decline.Task)
	number(c, &v.Decline.Attempt)
	text(c, &v.Decline.Reason)
	text(c, &v.Decline.Text)
	c.position(&v.Decline.Position)
	text(c, &v.Abort.Request)
	text(c, &v.Abort.Cause)
	text(c, &v.Abort.By)
	c.position(&v.Abort.Position)
	c.position(&v.Ended)
	number(c, &v.EndedAt)
	c.flag(&v.Withdrawn)
	text(c, &v.Reason)
	text(c, &v.Text)
	c.taskIDs(&v.Missing)
	number(c, &v.MissingCount)
	c.flag(&v.Forced)
	number(c, &v.Bytes)
	text(c, &v.RecordKey)
}

func (c *coder) history(h *history) {
	list(c, &h.list, func(v *Checkpoint) {
		c.summary(v)
		h.ids[v.ID] = struct{}{}
	})
	number(c, &h.forgotten)
}

func (c *coder) statistics(s *Statistics) {
	for _, n := range []*int64{
		&s.Triggered, &s.Completed, &s.Retired, &s.Discarded, &s.Withdrawn, &s.Acked, &s.Declined, &s.Requests, &s.Epochs, &s.Quarantined,
	} {
		number(c, n)
	}
	counters(c, s.Failed)
	counters(c, s.Refusals)
	for i := range s.Answers {
		number(c, &s.Answers[i])
		number(c, &s.Others[i])
	}
}

func counters[K ~string](c *coder, m map[K]int64) {
	keys := slices.Sorted(maps.Keys(m))
	list(c, &keys, func(k *K) {
		text(c, k)
		n := m[*k]
		number(c, &n)
		if c.reading {
			m[*k] = n
		}
	})
}
