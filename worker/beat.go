package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// beat gives signs of life until ctx ends. When a later attempt is alive, or when no sign could be given for as long as
// one lives, the attempt is over: somebody else may have the task, so this one stops writing by itself. The time is the
// monotonic clock's, which goes on while the process is stopped; so a process that was paused for too long finds out
// before its first beat.
func (a *attempt) beat(ctx context.Context, phase string) {
	last := time.Now()
	for {
		err := a.beatOnce(ctx, phase)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, eventlog.ErrSuperseded):
			a.lost <- fmt.Errorf("task %s, attempt %s: %w", a.cfg.Task, a.assigned.Attempt, ErrSuperseded)
			return
		case err == nil:
			last = time.Now()
			phase = "running"
		case time.Since(last) > a.cfg.PresenceTTL:
			a.lost <- fmt.Errorf("task %s, attempt %s: %w: %w", a.cfg.Task, a.assigned.Attempt, errLapsed, err)
			return
		default:
			a.log.Warn().Err(err).Msg("give a sign of life")
		}
		if !sleep(ctx, a.cfg.PresenceTTL/3) {
			return
		}
		if since := time.Since(last); since > a.cfg.PresenceTTL {
			a.lost <- fmt.Errorf("task %s, attempt %s: %w: the process stood still for %s", a.cfg.Task, a.assigned.Attempt, errLapsed, since)
			return
		}
	}
}

func (a *attempt) beatOnce(ctx context.Context, phase string) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.PresenceTTL)
	defer cancel()
	p := a.pipeline.Progress()
	progress, err := json.Marshal(struct {
		RecordsIn   int64 `json:"records_in"`
		RecordsOut  int64 `json:"records_out"`
		LateDropped int64 `json:"late_dropped"`
		Watermark   int64 `json:"watermark"`
	}{p.RecordsIn, p.RecordsOut, p.LateDropped, p.Watermark})
	if err != nil {
		return fmt.Errorf("encode progress: %w", err)
	}
	return a.cfg.Log.Beat(ctx, a.cfg.Task, eventlog.Presence{
		Instance: a.assigned.Instance, Attempt: a.assigned.Attempt, Phase: phase, Progress: progress,
	}, a.cfg.PresenceTTL)
}

// follow hands each newer control state to the owner.
func (a *attempt) follow(ctx context.Context) {
	for control, err := range a.cfg.Log.FollowControl(ctx, a.followOptions()) {
		if err != nil {
			a.lost <- fmt.Errorf("follow the control feed: %w", err)
			return
		}
		select {
		case a.controls <- control:
		case <-ctx.Done():
			return
		}
	}
}

// isVoid reports whether an attempt that ended so may not say anything any more.
func isVoid(err error) bool { return errors.Is(err, ErrSuperseded) || errors.Is(err, errLapsed) }
