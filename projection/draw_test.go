package projection_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/projection"
)

var (
	someTasks  = []events.TaskID{"a", "b", "c", "stranger"}
	chunkNames = []string{"p", "q", "r", "s"}
)

// drawEvent makes any event; numbers are near those in use so that most of them mean something.
func drawEvent(t *rapid.T, s *projection.State) events.Event {
	task := rapid.SampledFrom(someTasks).Draw(t, "task")
	row, _ := s.Task(task)
	attempt := max(row.Attempt+events.Attempt(rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "attempt off by")), 1)
	epoch := max(s.Epoch()+events.Epoch(rapid.SampledFrom([]int{0, 0, 0, 0, 0, -1, 1}).Draw(t, "epoch off by")), 1)
	id := events.CheckpointID(rapid.Int64Range(max(int64(s.NextID())-6, 0), int64(s.NextID())).Draw(t, "checkpoint"))
	request := events.RequestID(fmt.Sprintf("r%d", rapid.IntRange(0, 9).Draw(t, "request")))
	typ := rapid.SampledFrom([]events.CheckpointType{"checkpoint", "checkpoint", "savepoint"}).Draw(t, "type")
	joining := rapid.SampledFrom([]string{"", "", "", "payday"}).Draw(t, "joining")
	switch rapid.SampledFrom(append(events.Kinds(), events.KindTaskAcked, events.KindTaskAcked, events.KindTaskAcked,
		events.KindTaskRestored, events.KindCheckpointTriggered, events.KindCheckpointTriggered)).Draw(t, "kind") {
	case events.KindCoordinatorStarted:
		return drawStart(t, s)
	case events.KindCheckpointRequested:
		return &events.CheckpointRequested{Request: request, Type: typ, JoiningEvent: joining}
	case events.KindAbortRequested:
		return &events.AbortRequested{Request: request, UpTo: id}
	case events.KindWithdrawalRequested:
		return &events.WithdrawalRequested{Request: request, Checkpoint: id, Forced: rapid.Bool().Draw(t, "forced")}
	case events.KindRequestRefused:
		return &events.RequestRefused{Epoch: epoch, Request: request, Reason: rapid.SampledFrom(events.RefusalReasons()).Draw(t, "why")}
	case events.KindCheckpointTriggered:
		return drawTrigger(t, s, epoch, typ, joining)
	case events.KindTaskRegistered:
		return &events.TaskRegistered{
			Task: task, Instance: events.InstanceID(fmt.Sprintf("%s%d", task, rapid.IntRange(1, 30).Draw(t, "instance"))),
		}
	case events.KindTaskRestored:
		point := rapid.SampledFrom([]events.CheckpointID{row.Restore, row.Restore, row.Given}).Draw(t, "point")
		return &events.TaskRestored{Task: task, Attempt: attempt, Checkpoint: point}
	case events.KindTaskRestoreFailed:
		reason := rapid.SampledFrom(events.RestoreFailures()).Draw(t, "why not")
		point := rapid.SampledFrom([]events.CheckpointID{row.Restore, row.Given}).Draw(t, "point")
		return &events.TaskRestoreFailed{Task: task, Attempt: attempt, Checkpoint: point, Reason: reason}
	case events.KindTaskFinished:
		return &events.TaskFinished{Task: task, Attempt: attempt, Checkpoint: id}
	case events.KindTaskLeft:
		return &events.TaskLeft{Task: task, Attempt: attempt}
	case events.KindTaskLost:
		return &events.TaskLost{Epoch: epoch, Task: task, Attempt: attempt}
	case events.KindTaskAcked:
		return &events.TaskAcked{
			Checkpoint: id, Task: task, Attempt: attempt, Epoch: epoch, JoiningEvent: joining, Handle: drawHandle(t),
		}
	case events.KindTaskDeclined:
		return &events.TaskDeclined{Checkpoint: id, Task: task, Attempt: attempt, Epoch: epoch, Reason: events.DeclinedOther}
	case events.KindCheckpointCompleted:
		return &events.CheckpointCompleted{Epoch: epoch, Checkpoint: id, Forced: rapid.IntRange(0, 9).Draw(t, "forced") == 0}
	case events.KindCheckpointFailed:
		return &events.CheckpointFailed{Epoch: epoch, Checkpoint: id, Reason: rapid.SampledFrom(events.FailureReasons()).Draw(t, "why")}
	case events.KindCheckpointsRetired:
		return &events.CheckpointsRetired{Epoch: epoch, Checkpoints: []events.CheckpointID{id}}
	case events.KindCheckpointsWithdrawn:
		return drawWithdrawn(t, s, epoch, id)
	case events.KindStateDiscarded:
		return &events.StateDiscarded{Epoch: epoch, Checkpoints: []events.CheckpointID{id}}
	case events.KindLogTrimmed:
		return &events.LogTrimmed{Epoch: epoch, Before: events.Position{Ms: rapid.Uint64Range(1, 9).Draw(t, "before")}}
	case events.KindLogGapFound:
		return &events.LogGapFound{Epoch: epoch, Cause: events.GapDeleted, After: events.Position{Ms: uint64(id)}}
	}
	return nil
}

// drawWithdrawn names one checkpoint or two, and sometimes a request.
func drawWithdrawn(t *rapid.T, s *projection.State, epoch events.Epoch, id events.CheckpointID) events.Event {
	e := &events.CheckpointsWithdrawn{
		Epoch: epoch, Checkpoints: []events.CheckpointID{id}, ToNothing: rapid.IntRange(0, 3).Draw(t, "to nothing") == 0,
	}
	if rapid.Bool().Draw(t, "answers") {
		e.Request = events.RequestID(fmt.Sprintf("r%d", rapid.IntRange(0, 9).Draw(t, "request")))
	}
	if newest := s.LatestCompleted(); rapid.Bool().Draw(t, "newest") && !newest.IsZero() {
		e.Checkpoints = append(e.Checkpoints, newest)
	}
	return e
}

func drawStart(t *rapid.T, s *projection.State) events.Event {
	p := events.Policy{
		MaxConcurrent: rapid.Int64Range(1, 3).Draw(t, "max"), Retain: rapid.Int64Range(1, 3).Draw(t, "retain"),
		QueueLimit: rapid.Int64Range(1, 3).Draw(t, "queue"), Interval: rapid.Int64Range(0, 5).Draw(t, "interval"),
		MinPause: rapid.Int64Range(0, 5).Draw(t, "pause"), Timeout: rapid.Int64Range(0, 20).Draw(t, "timeout"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "set") {
	case 0:
		p.Count = 2
	case 1:
		p.Tasks = []events.TaskID{"c", "a"}
	default:
		p.Tasks = []events.TaskID{"b", "a"}
	}
	rise := rapid.SampledFrom([]int{1, 1, 1, 0, -1, 7, 5000}).Draw(t, "rise")
	return &events.CoordinatorStarted{
		Epoch:    max(s.Epoch()+events.Epoch(rise), 1),
		Instance: events.InstanceID(rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "instance")), Policy: p,
	}
}

func drawTrigger(t *rapid.T, s *projection.State, epoch events.Epoch, typ events.CheckpointType, joining string) events.Event {
	e := &events.CheckpointTriggered{
		Epoch: epoch, Checkpoint: s.NextID() + events.CheckpointID(rapid.IntRange(-1, 1).Draw(t, "id off by")), Type: typ,
		JoiningEvent: joining, Count: s.Policy().Count, Timeout: s.Policy().Timeout,
	}
	if rapid.IntRange(0, 2).Draw(t, "answers") == 0 {
		e.Request = events.RequestID(fmt.Sprintf("r%d", rapid.IntRange(0, 9).Draw(t, "request")))
	}
	tasks := s.Policy().Tasks
	slices.Sort(tasks)
	for _, id := range tasks {
		row, ok := s.Task(id)
		if !ok || row.Phase == projection.TaskIsFinished || rapid.IntRange(0, 19).Draw(t, "leave out") == 0 {
			continue
		}
		old := events.Attempt(0)
		if row.Attempt > 1 && rapid.IntRange(0, 19).Draw(t, "old attempt") == 0 {
			old = 1
		}
		e.Tasks = append(e.Tasks, events.TaskAttempt{Task: id, Attempt: row.Attempt - old})
	}
	return e
}

func drawHandle(t *rapid.T) (h events.StateHandle) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(chunkNames), 0, 3, rapid.ID[string]).Draw(t, "chunks") {
		h.Chunks = append(h.Chunks, events.ChunkRef{Name: name, Digest: digest(name), Bytes: 7})
	}
	return h
}

// wholeRound is a checkpoint from its trigger to its completion, with acks of whoever must; nothing unless the tasks are ready.
func wholeRound(s *projection.State) (list []events.Event) {
	if !s.Ready() || len(s.Policy().Tasks) == 0 || len(s.Live()) > 0 {
		return nil
	}
	trigger := &events.CheckpointTriggered{Epoch: s.Epoch(), Checkpoint: s.NextID(), Type: events.TypeCheckpoint}
	list = append(list, trigger)
	for _, row := range s.Tasks() {
		if row.Phase == projection.TaskIsFinished {
			continue
		}
		trigger.Tasks = append(trigger.Tasks, events.TaskAttempt{Task: row.ID, Attempt: row.Attempt})
		list = append(list, &events.TaskAcked{Checkpoint: trigger.Checkpoint, Task: row.ID, Attempt: row.Attempt, Epoch: s.Epoch()})
	}
	return append(list, &events.CheckpointCompleted{Epoch: s.Epoch(), Checkpoint: trigger.Checkpoint})
}

// drawDoubt is a worker that registers anew, and perhaps cannot restore, and what the coordinator finds.
func drawDoubt(t *rapid.T, s *projection.State) []events.Event {
	task := rapid.SampledFrom(someTasks[:2]).Draw(t, "task")
	row, _ := s.Task(task)
	newest := s.LatestCompleted()
	list := []events.Event{&events.TaskRegistered{
		Task: task, Instance: events.InstanceID(fmt.Sprintf("%s%d", task, rapid.IntRange(100, 1000).Draw(t, "instance"))),
	}}
	failed := &events.TaskRestoreFailed{Task: task, Attempt: row.Attempt + 1, Checkpoint: newest, Reason: events.RestoreChunkMissing}
	if rapid.Bool().Draw(t, "fails") && !newest.IsZero() {
		list = append(list, failed)
	}
	if rapid.Bool().Draw(t, "bad") && !newest.IsZero() {
		list = append(list, &events.CheckpointsWithdrawn{
			Epoch: max(s.Epoch(), 1), Checkpoints: []events.CheckpointID{newest}, ToNothing: rapid.Bool().Draw(t, "to nothing"),
		})
	}
	if rapid.Bool().Draw(t, "late") && !newest.IsZero() {
		list = append(list, failed)
	}
	return list
}
