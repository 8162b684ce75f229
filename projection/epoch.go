package projection

import (
	"slices"

	"github.com/tidemark-stream/tidemark/events"
)

// fenced lets a coordinator's event through only in its own epoch. The id counts as used either way: a fenced trigger may
// have left a record in the store.
func (s *State) fenced(epoch events.Epoch, id events.CheckpointID, then func() Outcome) Outcome {
	if epoch == s.epoch && !s.since.IsZero() {
		return then()
	}
	s.seeEpoch(epoch)
	s.see(id, false)
	return about(id, "", Fenced, "not of the epoch in force")
}

// coordinatorStarted opens an epoch and ends everything that was live in an older one.
func (s *State) coordinatorStarted(at stamp, e *events.CoordinatorStarted) Outcome {
	switch {
	case e.Epoch == s.epoch && e.Instance == s.instance:
		return plain(Duplicate, "")
	case e.Epoch <= s.epoch:
		return plain(Fenced, "the epoch is over or another instance's")
	case e.Epoch-s.epoch > MaxEpochRise:
		return plain(Refused, "the epoch rises by more than 1000")
	}
	followed := "coordinator " + e.Instance.String() + " followed in epoch " + e.Epoch.String()
	for len(s.live) > 0 {
		s.fail(s.live[0], at, events.FailedCoordinatorChanged, followed)
	}
	s.epoch, s.instance, s.since = e.Epoch, e.Instance, at.pos
	s.maxEpoch = max(s.maxEpoch, e.Epoch)
	s.stats.Epochs++
	s.setPolicy(e.Policy)
	s.trimQueue()
	return plain(Applied, "")
}

// setPolicy puts a policy in force. Tasks that it does not expect leave the table; their attempts are never given again.
func (s *State) setPolicy(p events.Policy) {
	s.policy = p
	s.indexTasks()
	if len(s.expected) == 0 {
		s.countReady()
		return
	}
	for id, t := range s.tasks { // the order does not matter: each step is a maximum or a removal
		if _, ok := s.index[id]; !ok {
			s.attemptFloor = max(s.attemptFloor, t.sum.Attempt)
			delete(s.tasks, id)
			s.tasksVersion++
		}
	}
	s.countReady()
}

// indexTasks derives expected and index from the policy.
func (s *State) indexTasks() {
	s.expected = slices.Clone(s.policy.Tasks)
	slices.Sort(s.expected)
	s.expected = slices.Compact(s.expected)
	s.index = make(map[events.TaskID]int32, len(s.expected))
	for i, id := range s.expected {
		s.index[id] = int32(i) // a policy of 8 MiB cannot name 2^31 tasks
	}
}

// countReady derives ready, finished and doubting from the task table.
func (s *State) countReady() {
	s.ready, s.finished, s.doubting = 0, 0, 0
	for id, t := range s.tasks {
		s.doubting += doubts(t.sum.Doubt)
		_, expected := s.index[id]
		s.tally(t.sum.Phase, expected, 1)
	}
}

func (s *State) tally(p TaskPhase, expected bool, n int) {
	if p == TaskIsFinished {
		s.finished += n
	}
	if expected && (p == TaskIsFinished || p == TaskIsRestored) {
		s.ready += n
	}
}

func (s *State) logTrimmed(e *events.LogTrimmed) Outcome {
	if !e.Before.After(s.trimmed) {
		return plain(Duplicate, "")
	}
	s.trimmed = e.Before
	return plain(Applied, "")
}

func (s *State) logGapFound(e *events.LogGapFound) Outcome {
	if s.gaps > 0 && s.gap.Epoch == e.Epoch && s.gap.After == e.After && s.gap.Before == e.Before && s.gap.Cause == e.Cause {
		return plain(Duplicate, "")
	}
	s.gaps++
	s.gap = events.LogGapFound{Epoch: e.Epoch, After: e.After, Before: e.Before, Cause: e.Cause}
	return plain(Applied, "")
}
