package worker

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// checkShare compares the number of shares that this worker was told with the number of tasks that the coordinator
// expects: with three shares and two tasks a third of the input would be missing at the end, and nobody would say so. A
// worker that was told no number, and a coordinator that names none, are not compared.
func (w *Worker) checkShare(c eventlog.Control) error {
	if !w.counted || c.Expected <= 0 || c.Expected == w.cfg.Count {
		return nil
	}
	tasks := "tasks"
	if c.Expected == 1 {
		tasks = "task"
	}
	return fmt.Errorf("task %s: %w: this worker has share %d of %d, but the coordinator expects %d %s; "+
		"start it with --task i/%d or the coordinator with --tasks %d",
		w.cfg.Task, ErrShare, w.cfg.Index+1, w.cfg.Count, c.Expected, tasks, c.Expected, w.cfg.Count)
}

// stateID tells one control state from another.
type stateID struct {
	epoch    events.Epoch
	instance events.InstanceID
	position events.Position
}

func stateOf(c eventlog.Control) stateID { return stateID{c.Epoch, c.Instance, c.Position} }
