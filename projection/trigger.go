package projection

import (
	"math"
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// checkpointTriggered makes a checkpoint pending. When a required attempt was replaced or lost between the decision and
// the append, it ends in the same step, as it would have a step later.
func (s *State) checkpointTriggered(at stamp, e *events.CheckpointTriggered) Outcome {
	if e.Checkpoint < s.nextID || e.Checkpoint < 0 {
		return s.usedID(e)
	}
	s.see(e.Checkpoint, true)
	if why := s.refuseTrigger(e); why != "" {
		return about(e.Checkpoint, "", Refused, why)
	}
	c := s.open(at, e)
	s.checkpoints[c.sum.ID] = c
	s.live = insert(s.live, c)
	s.stats.Triggered++
	s.requests.triggered(e.Request, e.Checkpoint, at, e.Type)
	s.adopt(c, at)
	return about(e.Checkpoint, "", Applied, "")
}

// usedID tells a repeated trigger from one that uses an id again.
func (s *State) usedID(e *events.CheckpointTriggered) Outcome {
	if v, ok := s.Checkpoint(e.Checkpoint); ok && v.Epoch == e.Epoch && v.Request == e.Request && v.Type == e.Type {
		return about(e.Checkpoint, "", Duplicate, "")
	}
	return about(e.Checkpoint, "", Refused, "the checkpoint id was used before")
}

// refuseTrigger names the rule that a trigger breaks; empty if none.
func (s *State) refuseTrigger(e *events.CheckpointTriggered) string {
	switch {
	case e.Checkpoint == maxCheckpoint:
		return "the last checkpoint id is never used"
	case len(s.live) >= MaxLive:
		return "too many checkpoints are live"
	case e.Type == events.TypeSavepoint && len(s.savepoints) >= MaxSavepoints:
		return "too many savepoints are kept"
	case s.requests.answeredOtherwise(e.Request, e.Checkpoint):
		return "the request has been answered"
	case len(s.expected) == 0 && (len(e.Tasks) > 0 || e.Count != s.policy.Count || e.Count < 1):
		return "the policy wants another count of acks"
	case len(s.expected) == 0 && e.Count <= int64(s.finished):
		return "all tasks have finished"
	case len(s.expected) == 0:
		return ""
	case len(e.Tasks) == 0:
		return "the policy wants a set of tasks"
	}
	return s.refuseTasks(e.Tasks)
}

// refuseTasks compares a required set with the expected one: together with the finished tasks it must be the whole.
func (s *State) refuseTasks(tasks []events.TaskAttempt) string {
	next := 0
	for _, id := range s.expected {
		t := s.tasks[id]
		switch {
		case next < len(tasks) && tasks[next].Task == id:
			if t == nil || tasks[next].Attempt > t.sum.Attempt {
				return "an attempt is required that was never given"
			}
			next++
		case t == nil: // one that is not finished any more ends the checkpoint in adopt
			return "an expected task is not required"
		}
	}
	if next < len(tasks) {
		return "a task is required that is not expected, or the tasks are out of order"
	}
	return ""
}

func (s *State) open(at stamp, e *events.CheckpointTriggered) *checkpoint {
	c := &checkpoint{
		sum: Checkpoint{
			ID: e.Checkpoint, Type: e.Type, Phase: PhasePending, Epoch: e.Epoch, Request: e.Request,
			Cause: clip(e.Cause), Timeout: millis(e.Timeout), JoiningEvent: e.JoiningEvent,
			Triggered: at.pos, TriggeredAt: at.at, Required: len(e.Tasks),
		},
		required: e.Tasks,
		slots:    make([]slot, len(e.Tasks)),
	}
	if len(e.Tasks) == 0 {
		c.required = nil
		c.byName = map[events.TaskID]int32{}
		c.sum.Required = int(min(e.Count, math.MaxInt32))
	}
	return c
}

// adopt settles a new checkpoint with the task table: finished tasks are carried, attempts that are over end it.
func (s *State) adopt(c *checkpoint, at stamp) {
	for _, t := range s.finishedTasks() {
		switch i := c.find(t.sum.ID, s.index); {
		case i >= 0 || c.byCount():
			c.settle(t, at)
		default:
			c.carried = append(c.carried, t.end)
		}
	}
	if c.byCount() {
		return
	}
	for _, id := range s.expected {
		t := s.tasks[id]
		i := c.find(id, s.index)
		switch {
		case i < 0 && t.sum.Phase != TaskIsFinished:
			s.fail(c, at, events.FailedTaskRestarted, "task "+string(id)+" is not required and has not finished")
			return
		case i >= 0 && c.required[i].Attempt < t.sum.Attempt:
			s.fail(c, at, events.FailedTaskRestarted, "a new instance took over task "+string(id))
			return
		case i >= 0 && t.sum.Phase == TaskIsLost:
			s.fail(c, at, events.FailedTaskLost, "task "+string(id)+" was lost")
			return
		}
	}
}

// finishedTasks lists them sorted by id; it costs nothing while there are none.
func (s *State) finishedTasks() []*task {
	if s.finished == 0 {
		return nil
	}
	list := make([]*task, 0, s.finished)
	for _, t := range s.tasks {
		if t.sum.Phase == TaskIsFinished {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *task) int { return strings.Compare(string(a.sum.ID), string(b.sum.ID)) })
	return list
}
