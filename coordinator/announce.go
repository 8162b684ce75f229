package coordinator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

const keyControl = "control"

// repeatControl is how often the control state is written although nothing changed: a worker that lost it, and one whose
// Redis lost it, is level again after that.
const repeatControl = 10 * time.Second

// announce tells the workers what has changed: assignments first, then the state that points to them. Both say only what
// has landed: a checkpoint whose record is not marked yet is not announced, nor is a restore point that names it.
func (l *loop) announce(r *reign) {
	again := l.clock()-r.told >= repeatControl
	if !r.stale && !again || l.logLane.runs(keyControl) {
		return
	}
	control := l.control(r)
	changed := l.changedAssignments(r)
	r.stale = false
	if len(changed) == 0 && r.told > 0 && sameControl(control, r.announced) && !again {
		return
	}
	l.logLane.start(r.ctx, l.clock(), keyControl, func(ctx context.Context) result {
		if len(changed) > 0 {
			if err := r.insist(ctx, func() error { return r.term.WriteTasks(ctx, changed) }); err != nil {
				return l.failed(r, "write the assignments", err)
			}
		}
		if err := r.insist(ctx, func() error { return r.term.WriteControl(ctx, control) }); err != nil {
			return l.failed(r, "write the control state", err)
		}
		return result{done: func(l *loop) {
			r.announced, r.told = control, l.clock()
			for task, a := range changed {
				r.assigned[task] = a
			}
		}}
	})
}

// control is the state to announce now.
func (l *loop) control(r *reign) eventlog.Control {
	c := eventlog.Control{
		Position: l.state.Position(), LatestCompleted: r.latestLanded(l.state), TasksVersion: l.state.TasksVersion(),
		Finished: l.finished(),
	}
	for _, p := range l.undecided(r) {
		c.Pending = append(c.Pending, eventlog.PendingCheckpoint{
			ID: p.ID, Type: p.Type, Epoch: p.Epoch, JoiningEvent: p.JoiningEvent, TriggeredAt: p.TriggeredAt,
		})
	}
	slices.SortFunc(c.Pending, func(a, b eventlog.PendingCheckpoint) int { return cmp.Compare(a.ID, b.ID) })
	return c
}

// undecided are the checkpoints that workers must not take for failed: those without a verdict, and those whose verdict
// is in but has not landed. Which of them a worker has answered it knows itself.
func (l *loop) undecided(r *reign) []projection.Checkpoint {
	list := l.state.Live()
	for _, c := range l.state.Completed() {
		if !r.landed[c.ID] {
			list = append(list, c)
		}
	}
	return list
}

// sameControl compares all but the position, which moves with every event and matters to nobody by itself.
func sameControl(a, b eventlog.Control) bool {
	return a.LatestCompleted == b.LatestCompleted && a.TasksVersion == b.TasksVersion && a.Finished == b.Finished &&
		slices.Equal(a.Pending, b.Pending)
}

// changedAssignments are those that differ from what was written in this reign and whose restore point has landed.
func (l *loop) changedAssignments(r *reign) map[events.TaskID]eventlog.Assignment {
	var changed map[events.TaskID]eventlog.Assignment
	for _, t := range l.state.Tasks() {
		if !t.Restore.IsZero() && t.Pinned && !r.landed[t.Restore] {
			continue
		}
		a := eventlog.Assignment{Instance: t.Instance, Attempt: t.Attempt, Restore: t.Restore, Phase: t.Phase.String()}
		if a == r.assigned[t.ID] {
			continue
		}
		if changed == nil {
			changed = make(map[events.TaskID]eventlog.Assignment)
		}
		changed[t.ID] = a
	}
	return changed
}

// latestLanded is the newest completed checkpoint whose record says so.
func (r *reign) latestLanded(s *projection.State) events.CheckpointID {
	latest := events.NoCheckpoint
	for _, c := range s.Completed() {
		if r.landed[c.ID] {
			latest = max(latest, c.ID)
		}
	}
	return latest
}

// finished reports whether every expected task has finished: no further checkpoint will come.
func (l *loop) finished() bool {
	n := 0
	for _, t := range l.state.Tasks() {
		if t.Phase == projection.TaskIsFinished {
			n++
		}
	}
	return len(l.cfg.Tasks) > 0 && n == len(l.cfg.Tasks)
}
