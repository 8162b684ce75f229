package projection

import (
	"errors"
	"fmt"
	"slices"
)

// Check tests the invariants of the package comment and returns all that are broken, joined. It is for tests, for the
// reader of a saved fold, and costs a walk over everything.
func (s *State) Check() error {
	var c checker
	s.checkLists(&c)
	for _, cp := range s.live {
		s.checkLive(&c, cp)
	}
	s.checkTasks(&c)
	s.checkRequests(&c)
	s.checkBounds(&c)
	return errors.Join(c...)
}

// checker gathers broken invariants.
type checker []error

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Errorf(format, args...))
	}
}

func (s *State) checkLists(c *checker) {
	n := 0
	for _, l := range []struct {
		name   string
		list   []*checkpoint
		belong func(*checkpoint) bool
	}{
		{"live", s.live, func(p *checkpoint) bool { return !p.sum.Phase.Terminal() }},
		{"completed", s.completed, func(p *checkpoint) bool { return p.sum.Phase == PhaseCompleted && !p.savepoint() }},
		{"savepoints", s.savepoints, func(p *checkpoint) bool { return p.sum.Phase == PhaseCompleted && p.savepoint() }},
		{"waste", s.waste, func(p *checkpoint) bool { return p.sum.Phase == PhaseFailed || p.sum.Phase == PhaseRetired }},
	} {
		n += len(l.list)
		c.want(slices.IsSortedFunc(l.list, compareIDs), "1: %s is not sorted", l.name)
		for _, p := range l.list {
			id := p.sum.ID
			c.want(l.belong(p) && s.checkpoints[id] == p, "1: checkpoint %s (%s) does not belong into %s", id, p.sum.Phase, l.name)
			c.want(id < s.nextID, "3: checkpoint %s is not below the next id %s", id, s.nextID)
			s.checkAcks(c, p)
		}
	}
	c.want(n == len(s.checkpoints), "1: %d checkpoints are in lists, %d in the table", n, len(s.checkpoints))
	for id, p := range s.checkpoints {
		c.want(!p.sum.Withdrawn || p.sum.Phase == PhaseRetired, "12: withdrawn checkpoint %s is %s", id, p.sum.Phase)
	}
	for _, h := range s.history.list {
		c.want(h.Phase == PhaseFailed || h.Phase == PhaseCompleted, "1: the history holds %s as %s", h.ID, h.Phase)
		c.want(h.ID < s.nextID, "3: ended checkpoint %s is not below the next id %s", h.ID, s.nextID)
	}
	c.want(len(s.history.ids) == len(s.history.list), "3: an id ended twice")
}

func (p *checkpoint) savepoint() bool { return p.sum.Type == "savepoint" }

func (s *State) checkAcks(c *checker, p *checkpoint) {
	filled := 0
	c.want(!p.byCount() || len(p.byName) == len(p.slots), "6: checkpoint %s: %d names for %d slots", p.sum.ID, len(p.byName), len(p.slots))
	for i := range p.slots {
		if p.slots[i].ack == nil {
			continue
		}
		filled++
		if !p.byCount() {
			c.want(p.slots[i].ack.Task == p.required[i].Task, "6: checkpoint %s: an ack is in a foreign slot", p.sum.ID)
		}
	}
	c.want(filled == p.sum.Acked && filled <= p.sum.Required, "6: checkpoint %s: %d acks in slots, %d counted, %d required",
		p.sum.ID, filled, p.sum.Acked, p.sum.Required)
	whole := filled == p.sum.Required
	switch p.sum.Phase {
	case PhaseCompleted, PhaseRetired:
		c.want(whole || p.sum.Forced, "2: checkpoint %s is %s with %d of %d acks", p.sum.ID, p.sum.Phase, filled, p.sum.Required)
	case PhaseFinalizing:
		c.want(whole && !p.sum.Doomed(), "2: checkpoint %s is finalizing with %d of %d acks", p.sum.ID, filled, p.sum.Required)
	case PhasePending:
		c.want(!whole || p.sum.Doomed(), "2: checkpoint %s has all acks and is pending", p.sum.ID)
	case PhaseFailed:
	}
}

func (s *State) checkLive(c *checker, p *checkpoint) {
	c.want(p.sum.Epoch == s.epoch, "4: live checkpoint %s is of epoch %s, not %s", p.sum.ID, p.sum.Epoch, s.epoch)
	for i := range p.required {
		r := p.required[i]
		t := s.tasks[r.Task]
		_, expected := s.index[r.Task]
		c.want(t != nil && t.sum.Attempt == r.Attempt && expected, "5: live checkpoint %s requires attempt %s of task %s",
			p.sum.ID, r.Attempt, r.Task)
	}
}

func (s *State) checkTasks(c *checker) {
	c.want(s.epoch <= s.maxEpoch, "4: epoch %s is above the highest seen %s", s.epoch, s.maxEpoch)
	ready, finished, doubting := 0, 0, 0
	for id, t := range s.tasks {
		_, expected := s.index[id]
		c.want(expected || len(s.expected) == 0, "5: task %s is not expected", id)
		c.want(!t.sum.Left || t.sum.Phase == TaskIsLost, "13: task %s has left and is %s", id, t.sum.Phase)
		done := t.sum.Phase == TaskIsFinished
		c.want(done == (t.end.ack != nil) && done == !t.sum.Finished.IsZero(), "8: task %s is %s", id, t.sum.Phase)
		if done {
			finished++
		}
		if expected && (done || t.sum.Phase == TaskIsRestored) {
			ready++
		}
		if t.sum.Pinned {
			p := s.checkpoints[t.sum.Restore]
			c.want(t.sum.Phase == TaskIsRegistered && p != nil && p.sum.Phase == PhaseCompleted && !p.savepoint(),
				"7: task %s pins checkpoint %s", id, t.sum.Restore)
		}
		doubting += doubts(t.sum.Doubt)
		c.want(t.sum.Doubt.IsZero() || s.restorePoint(t.sum.Doubt.Checkpoint), "12: task %s doubts checkpoint %s", id, t.sum.Doubt.Checkpoint)
	}
	c.want(ready == s.ready && finished == s.finished && doubting == s.doubting,
		"9: %d ready, %d finished and %d doubting, counted %d, %d and %d", ready, finished, doubting, s.ready, s.finished, s.doubting)
}

func (s *State) checkRequests(c *checker) {
	queued, owed, examining := 0, 0, 0
	open := map[*Request]int{}
	for _, p := range s.live {
		if r := s.requests.byID[p.sum.Abort.Request]; r != nil {
			open[r]++
		}
	}
	for _, r := range s.requests.order {
		c.want(s.requests.byID[r.ID] == r, "10: request %s stands twice", r.ID)
		if r.Status == RequestQueued {
			queued++
		}
		if r.Status == RequestRefusing || r.conflict {
			owed++
		}
		if r.Status == RequestExamining {
			examining++
			c.want(r.Withdraw && s.restorePoint(r.UpTo), "10: request %s is about checkpoint %s", r.ID, r.UpTo)
		}
		c.want(r.open == open[r] && (r.Status == RequestAborting) == (r.open > 0),
			"10: request %s is %s with %d open of %d", r.ID, r.Status, r.open, open[r])
	}
	c.want(queued == len(s.requests.queue), "10: %d queued, %d in the queue", queued, len(s.requests.queue))
	c.want(examining == len(s.requests.exam), "10: %d are examined, %d listed", examining, len(s.requests.exam))
	c.want(owed == len(s.requests.owed), "10: %d owed a refusal, %d listed", owed, len(s.requests.owed))
}

func (s *State) checkBounds(c *checker) {
	c.want(len(s.live) <= MaxLive, "11: %d are live", len(s.live))
	c.want(len(s.savepoints) <= MaxSavepoints+MaxLive, "11: %d savepoints", len(s.savepoints))
	c.want(len(s.requests.order) <= MaxRequests, "11: %d requests", len(s.requests.order))
	c.want(len(s.requests.queue) <= MaxQueue, "11: %d queued", len(s.requests.queue))
	c.want(len(s.history.list) <= MaxHistory, "11: %d in the history", len(s.history.list))
	c.want(len(s.expected) > 0 || len(s.tasks) <= MaxLooseTasks, "11: %d tasks", len(s.tasks))
}
