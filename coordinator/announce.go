package coordinator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/projection"
)

const (
	keyControl = "control"
	// mostUnlanded bounds what a control state says of checkpoints that have not landed: at the start of a reign that is all
	// that is kept.
	mostUnlanded = 64
)

// repeatControl is how often the control state is written although nothing changed: a worker that lost it, and one whose
// Redis lost it, is level again after that.
const repeatControl = 10 * time.Second

// announce tells the workers what has changed: assignments first, then the state that points to them. Both say only what
// has landed: a checkpoint whose record is not marked yet is not announced, nor is a restore point that names it.
func (l *loop) announce(r *reign) {
	again := l.clock()-r.told >= repeatControl
	if !r.stale && !again || !l.logLane.ready(l.clock(), keyControl) {
		return
	}
	var news assignments
	if r.tasksStale || again {
		news.changed = l.changedAssignments(r, again)
	}
	if !r.swept { // the tasks that are expected change with the coordinator alone
		news.keep = l.knownTasks()
	}
	control := l.control(r)
	r.stale, r.tasksStale = false, false
	if r.swept && len(news.changed) == 0 && r.told > 0 && sameControl(control, r.announced) && !again {
		return
	}
	r.told = l.clock()
	l.logLane.start(r.ctx, r.told, keyControl, func(ctx context.Context) result {
		if err := write(ctx, r.term, news, control); err != nil {
			res := l.failed(r, "write the control state", err)
			also := res.done
			res.done = func(l *loop) { r.stale, r.tasksStale = true, true; also(l) }
			return res
		}
		return result{done: func(*loop) {
			r.announced, r.swept = control, true
			maps.Copy(r.assigned, news.changed)
		}}
	})
}

// assignments are what is to be written of them.
type assignments struct {
	changed map[events.TaskID]eventlog.Assignment
	keep    []events.TaskID // if not nil, those of all other tasks are removed
}

// knownTasks are those that the fold knows. A coordinator with other tasks may have led before: what it has assigned would
// tell its workers that they are still expected.
func (l *loop) knownTasks() []events.TaskID {
	tasks := l.state.Tasks()
	ids := make([]events.TaskID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	return ids
}

func write(ctx context.Context, term eventlog.Term, news assignments, c eventlog.Control) error {
	if news.keep != nil {
		if err := term.KeepTasks(ctx, news.keep); err != nil {
			return err
		}
	}
	if len(news.changed) > 0 {
		if err := term.WriteTasks(ctx, news.changed); err != nil {
			return err
		}
	}
	return term.WriteControl(ctx, c)
}

// control is the state to announce now.
func (l *loop) control(r *reign) eventlog.Control {
	c := eventlog.Control{
		Position: l.state.Position(), LatestCompleted: r.latest, TasksVersion: l.state.TasksVersion(), Finished: r.finished,
		Expected: len(l.cfg.Tasks),
	}
	for _, p := range l.undecided(r) {
		c.Pending = append(c.Pending, eventlog.PendingCheckpoint{
			ID: p.ID, Type: p.Type, Epoch: p.Epoch, JoiningEvent: p.JoiningEvent, TriggeredAt: p.TriggeredAt,
		})
	}
	slices.SortFunc(c.Pending, func(a, b eventlog.PendingCheckpoint) int { return cmp.Compare(a.ID, b.ID) })
	return c
}

// undecided are the checkpoints that workers must not take for failed: those without a verdict, and the newest of those
// whose verdict is in but has not landed. Which of them a worker has answered it knows itself.
func (l *loop) undecided(r *reign) []projection.Checkpoint {
	var list []projection.Checkpoint
	for id := range r.unlanded {
		if cp, ok := l.state.Checkpoint(id); ok && cp.Phase == projection.PhaseCompleted {
			list = append(list, cp)
		}
	}
	slices.SortFunc(list, func(a, b projection.Checkpoint) int { return cmp.Compare(b.ID, a.ID) })
	return append(list[:min(len(list), mostUnlanded)], l.state.Live()...)
}

// sameControl compares all but the position, which moves with every event and matters to nobody by itself.
func sameControl(a, b eventlog.Control) bool {
	return a.LatestCompleted == b.LatestCompleted && a.TasksVersion == b.TasksVersion && a.Finished == b.Finished &&
		slices.Equal(a.Pending, b.Pending)
}

// changedAssignments are those that differ from what was written in this reign and whose restore point has landed and is not in
// doubt. Those
// that a task still waits for are among them each time again: somebody may have deleted the key.
func (l *loop) changedAssignments(r *reign, again bool) map[events.TaskID]eventlog.Assignment {
	changed := make(map[events.TaskID]eventlog.Assignment)
	finished := 0
	r.withheld = false
	tasks := l.state.Tasks()
	doubted := l.doubted(r, tasks)
	for _, t := range tasks {
		if t.Phase == projection.TaskIsFinished {
			finished++
		}
		if t.Pinned && (r.unlanded[t.Restore] || doubted[t.Restore]) {
			r.withheld = r.withheld || r.unlanded[t.Restore]
			continue
		}
		a := eventlog.Assignment{Instance: t.Instance, Attempt: t.Attempt, Restore: t.Restore, Phase: t.Phase.String()}
		if a != r.assigned[t.ID] || again && t.Phase == projection.TaskIsRegistered {
			changed[t.ID] = a
		}
	}
	r.finished = len(l.cfg.Tasks) > 0 && finished == len(l.cfg.Tasks)
	return changed
}
