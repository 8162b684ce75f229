package projection

import (
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// TaskPhase tells how far the current attempt of a task has come.
type TaskPhase uint8

// The phases of a task.
const (
	TaskIsRegistered TaskPhase = iota + 1 // it knows its restore point and has not loaded it yet
	TaskIsRestored                        // it processes records
	TaskIsFinished                        // its input is at an end, its end state is in a completed checkpoint
	TaskIsLost                            // its presence lapsed, or it has left; it waits for a new registration
)

func (p TaskPhase) String() string {
	switch p {
	case TaskIsRegistered:
		return "registered"
	case TaskIsRestored:
		return "restored"
	case TaskIsFinished:
		return "finished"
	case TaskIsLost:
		return "lost"
	}
	return "unknown"
}

// Task is one task as the fold sees it.
type Task struct {
	ID       events.TaskID
	Instance events.InstanceID
	Attempt  events.Attempt
	Phase    TaskPhase
	// Restore is the restore point: the newest completed checkpoint (no savepoint) at the position of the registration, or,
	// when that was withdrawn since, the newest that was left; NoCheckpoint means start empty.
	Restore events.CheckpointID
	// Given is the restore point that the registration fixed. Restore is an older one if it was withdrawn since and the
	// attempt has not said that it had loaded it all the same.
	Given events.CheckpointID
	// Pinned says that Restore must not be retired: the task has not loaded it yet.
	Pinned bool
	// Doubt is what an attempt of the task has said about a restore point that is still kept.
	Doubt Doubt
	// Left says that an attempt in TaskIsLost has said that it leaves, in order.
	Left bool
	// Finished is the completed checkpoint that holds the end state; NoCheckpoint unless the phase is TaskIsFinished.
	Finished events.CheckpointID
	// Registered is where the current attempt began.
	Registered events.Position
	// Host and PID say where it runs, for the reader.
	Host string
	PID  int64
}

// task is a row of the task table.
type task struct {
	sum       Task
	instances []events.InstanceID // the last MaxInstances, newest last; replaced, never changed: clones share it
	end       slot                // the end state of a finished task
}

// Task is the row of one task; false if it never registered or is not expected any more.
func (s *State) Task(id events.TaskID) (Task, bool) {
	t, ok := s.tasks[id]
	if !ok {
		return Task{}, false
	}
	return t.sum, true
}

// Tasks lists the tasks that have registered, sorted by id.
func (s *State) Tasks() []Task {
	list := make([]Task, 0, len(s.tasks))
	for _, t := range s.tasks {
		list = append(list, t.sum)
	}
	slices.SortFunc(list, func(a, b Task) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list
}

// TasksVersion rises whenever the attempt, instance or restore point of any task changes.
func (s *State) TasksVersion() int64 { return s.tasksVersion }

func (s *State) setPhase(t *task, p TaskPhase) {
	_, expected := s.index[t.sum.ID]
	s.tally(t.sum.Phase, expected, -1)
	t.sum.Phase = p
	s.tally(p, expected, 1)
	t.sum.Pinned = p == TaskIsRegistered && !t.sum.Restore.IsZero()
}

// taskRegistered gives a new instance the next attempt and its restore point, and ends what needs the older attempt.
func (s *State) taskRegistered(at stamp, e *events.TaskRegistered) Outcome {
	t, known := s.tasks[e.Task]
	if known && slices.Contains(t.instances, e.Instance) {
		o := about(events.NoCheckpoint, e.Task, Duplicate, "")
		o.Attempt = t.sum.Attempt
		return o
	}
	if !known {
		if _, expected := s.index[e.Task]; !expected && len(s.expected) > 0 {
			return about(events.NoCheckpoint, e.Task, ForeignTask, "the policy does not expect this task")
		}
		if len(s.expected) == 0 && len(s.tasks) >= MaxLooseTasks {
			return about(events.NoCheckpoint, e.Task, Refused, "the task table is full")
		}
		t = &task{sum: Task{ID: e.Task, Attempt: s.attemptFloor}}
		s.tasks[e.Task] = t
	}
	s.failNeeding(t, at, events.FailedTaskRestarted, "a new instance took over task "+string(e.Task))
	t.sum.Attempt++
	t.sum.Instance, t.sum.Registered = e.Instance, at.pos
	t.sum.Restore, t.sum.Finished = s.LatestCompleted(), events.NoCheckpoint
	t.sum.Given, t.sum.Left = t.sum.Restore, false
	t.sum.Host, t.sum.PID = clip(e.Host), e.PID
	t.end = slot{}
	t.instances = append(slices.Clone(t.instances[max(0, len(t.instances)+1-MaxInstances):]), e.Instance)
	s.setPhase(t, TaskIsRegistered)
	s.tasksVersion++
	return Outcome{Kind: Applied, Checkpoint: t.sum.Restore, Task: e.Task, Attempt: t.sum.Attempt}
}

// current finds the task if attempt is its current one.
func (s *State) current(id events.TaskID, attempt events.Attempt) (*task, Outcome) {
	t, ok := s.tasks[id]
	if !ok {
		return nil, about(events.NoCheckpoint, id, ForeignTask, "the task has never registered")
	}
	o := Outcome{Kind: Applied, Checkpoint: events.NoCheckpoint, Task: id, Attempt: t.sum.Attempt}
	if t.sum.Attempt != attempt {
		o.Kind, o.Why = StaleAttempt, "not the current attempt"
		return nil, o
	}
	return t, o
}

func (s *State) taskRestored(e *events.TaskRestored) Outcome {
	s.see(e.Checkpoint, false)
	t, o := s.current(e.Task, e.Attempt)
	if t == nil {
		return o
	}
	o.Checkpoint = e.Checkpoint
	loaded := max(e.Checkpoint, events.NoCheckpoint)
	switch {
	case loaded != t.sum.Restore && loaded != t.sum.Given:
		o.Kind, o.Why = Refused, "not the restore point of this attempt"
	case t.sum.Phase == TaskIsLost:
		o.Kind, o.Why = Refused, "the attempt is lost and must register anew"
	case t.sum.Phase != TaskIsRegistered:
		o.Kind = Duplicate
	default:
		t.sum.Restore = loaded
		s.setDoubt(t, Doubt{})
		s.setPhase(t, TaskIsRestored)
	}
	return o
}

// taskFinished keeps the task's last handle for later checkpoints. Pending ones count it as acked from here on.
func (s *State) taskFinished(at stamp, e *events.TaskFinished) Outcome {
	s.see(e.Checkpoint, false)
	t, o := s.current(e.Task, e.Attempt)
	if t == nil {
		return o
	}
	o.Checkpoint = e.Checkpoint
	switch t.sum.Phase {
	case TaskIsFinished:
		o.Kind = Duplicate
		return o
	case TaskIsRegistered, TaskIsLost:
		o.Kind, o.Why = Refused, "the attempt is not restored"
		return o
	case TaskIsRestored:
	}
	id, end, ok := s.endState(e)
	if !ok {
		o.Kind, o.Why = Refused, "no completed checkpoint of that id holds a handle of this attempt"
		return o
	}
	t.end = end
	t.sum.Finished = id
	s.setPhase(t, TaskIsFinished)
	for _, c := range s.live {
		c.settle(t, at)
	}
	return o
}

// endState finds the ack of the attempt in the completed checkpoint that the event names. A savepoint will not do: nothing
// is committed on one, and nothing restores it.
func (s *State) endState(e *events.TaskFinished) (events.CheckpointID, slot, bool) {
	c := s.checkpoints[e.Checkpoint]
	if c == nil || c.sum.Phase == PhaseRetired {
		c = s.successor(e.Checkpoint)
	}
	if c == nil || c.sum.Phase != PhaseCompleted || c.savepoint() {
		return 0, slot{}, false
	}
	i := c.find(e.Task, s.index)
	if i < 0 || c.slots[i].ack == nil || !c.byCount() && c.slots[i].ack.Attempt != e.Attempt {
		return 0, slot{}, false
	}
	end := c.slots[i]
	end.carried = true
	return c.sum.ID, end, true
}

// successor is the newest kept checkpoint, if that of the id completed and was retired since: the event may have been on its
// way meanwhile. A later cut of a task that has read all its input holds the same end state.
func (s *State) successor(id events.CheckpointID) *checkpoint {
	v, ok := s.Checkpoint(id)
	last := s.LatestCompleted()
	if !ok || v.Type == events.TypeSavepoint || v.Phase != PhaseCompleted && v.Phase != PhaseRetired || last <= id {
		return nil
	}
	return s.checkpoints[last]
}

// taskLost ends the pending checkpoints that still wait for the attempt. Those that hold its ack may complete.
func (s *State) taskLost(at stamp, e *events.TaskLost) Outcome {
	t, o := s.current(e.Task, e.Attempt)
	if t == nil {
		return o
	}
	switch t.sum.Phase {
	case TaskIsLost:
		o.Kind = Duplicate
	case TaskIsFinished:
		o.Kind, o.Why = Refused, "the task has finished and need not live"
	case TaskIsRegistered, TaskIsRestored:
		s.setPhase(t, TaskIsLost)
		s.failWaiting(t, at, "task "+string(e.Task)+" was lost")
	}
	return o
}

// taskLeft is taskLost by the attempt's own word.
func (s *State) taskLeft(at stamp, e *events.TaskLeft) Outcome {
	t, o := s.current(e.Task, e.Attempt)
	if t == nil {
		return o
	}
	switch t.sum.Phase {
	case TaskIsLost:
		o.Kind = Duplicate
	case TaskIsFinished:
		o.Kind, o.Why = Refused, "the task has finished and need not live"
	case TaskIsRegistered, TaskIsRestored:
		t.sum.Left = true
		s.setPhase(t, TaskIsLost)
		s.failWaiting(t, at, "task "+string(e.Task)+" has left")
	}
	return o
}

// failNeeding ends every live checkpoint that requires or carries the task's current attempt.
func (s *State) failNeeding(t *task, at stamp, reason events.FailureReason, text string) {
	for i := 0; i < len(s.live); {
		if c := s.live[i]; c.needs(t, s.index) {
			s.fail(c, at, reason, text)
		} else {
			i++
		}
	}
}

func (s *State) failWaiting(t *task, at stamp, text string) {
	for i := 0; i < len(s.live); {
		if c := s.live[i]; c.sum.Phase == PhasePending && c.waitsFor(t, s.index) {
			s.fail(c, at, events.FailedTaskLost, text)
		} else {
			i++
		}
	}
}
