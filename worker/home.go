package worker

import (
	"context"

	"github.com/tidemark-stream/tidemark/engine"
)

// phaseFinished is how the coordinator's assignment calls an attempt whose end state it holds.
const phaseFinished = "finished"

// nothingLeft reports whether there is nothing to do for a worker that goes on from its restore point: the task has finished
// already, or ctx has ended. To register would end the finished state: the task would have a new attempt without an end state, and
// be lost if this process could not bring it to one. It waits until the log can say.
func (w *Worker) nothingLeft(ctx context.Context) bool {
	if w.cfg.Mode != engine.Adopt {
		return false // told to read everything again
	}
	for {
		finished, err := w.hasFinished(ctx)
		if err == nil {
			return finished
		}
		if ctx.Err() == nil {
			w.log.Warn().Err(err).Msg("look whether the task has finished")
		}
		if !w.pause(ctx) {
			return true
		}
	}
}

// hasFinished looks once. With another number of shares the finished one was not this one: registering says what is wrong then.
func (w *Worker) hasFinished(ctx context.Context) (bool, error) {
	now, ok, err := w.cfg.Log.Assignment(ctx, w.cfg.Task)
	if err != nil || !ok || now.Phase != phaseFinished {
		return false, err
	}
	control, ok, err := w.cfg.Log.LatestControl(ctx)
	if err != nil || !ok || w.checkShare(control) != nil {
		return false, err
	}
	w.log.Info().Int64("attempt", int64(now.Attempt)).
		Msg("the task has finished in an earlier run, and nothing is left to do; with restore mode fresh it starts again")
	return true, nil
}
