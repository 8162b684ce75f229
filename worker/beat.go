package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/engine"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// beat gives signs of life until ctx ends. When a later attempt is alive, or when no sign arrived for as long as one
// lives, it ends the attempt: somebody else may have the task. A process that was paused for too long finds out as soon as
// it wakes.
func (a *attempt) beat(ctx context.Context) {
	ttl := a.cfg.PresenceTTL
	for {
		err := a.beatOnce(ctx)
		since := a.pulse.since()
		pause := ttl / 3
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, eventlog.ErrSuperseded):
			a.end(a.lost(ErrSuperseded))
			return
		case since >= ttl:
			a.end(a.lost(lapse(since, err)))
			return
		case err != nil:
			a.log.Warn().Err(err).Msg("give a sign of life")
			pause = ttl / 10
		}
		if !sleep(ctx, min(pause, ttl-since)) {
			return
		}
		if since := a.pulse.since(); since >= ttl {
			a.end(a.lost(lapse(since, err)))
			return
		}
	}
}

func lapse(since time.Duration, err error) error {
	if err != nil {
		return fmt.Errorf("%w for %s: %w", errLapsed, since.Round(time.Millisecond), err)
	}
	return fmt.Errorf("%w for %s: the process stood still", errLapsed, since.Round(time.Millisecond))
}

// beatOnce gives a sign of life, or gives up when the one before has lapsed.
func (a *attempt) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.PresenceTTL-a.pulse.since())
	defer cancel()
	progress, err := a.progress()
	if err != nil {
		return err
	}
	phase, _ := a.pulse.phase.Load().(string)
	sent := time.Since(a.pulse.began)
	err = a.cfg.Log.Beat(ctx, a.cfg.Task, eventlog.Presence{
		Instance: a.assigned.Instance, Attempt: a.assigned.Attempt, Phase: phase, Progress: progress,
	}, a.cfg.PresenceTTL)
	if err == nil {
		a.pulse.sent.Store(int64(sent))
	}
	return err
}

// lastBeat gives one more sign of life. That it does not arrive is no reason to wait, or to fail: the goroutine that beats
// goes on.
func (a *attempt) lastBeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.PresenceTTL/10)
	defer cancel()
	if err := a.beatOnce(ctx); err != nil {
		a.log.Debug().Err(err).Msg("give a last sign of life")
	}
}

// progress is how far the pipeline has come, for the reader; nothing before it is built.
func (a *attempt) progress() ([]byte, error) {
	pipeline := a.pulse.pipeline.Load()
	if pipeline == nil {
		return nil, nil
	}
	p := (*pipeline).Progress()
	shown := struct {
		RecordsIn   int64  `json:"records_in"`
		RecordsOut  int64  `json:"records_out"`
		LateDropped int64  `json:"late_dropped"`
		Watermark   *int64 `json:"watermark,omitempty"` // absent before the first
	}{RecordsIn: p.RecordsIn, RecordsOut: p.RecordsOut, LateDropped: p.LateDropped}
	if p.Watermark != engine.MinWatermark {
		shown.Watermark = &p.Watermark
	}
	b, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("encode progress: %w", err)
	}
	return b, nil
}

// lapsed reports whether somebody else may have the task already. It is asked before each write that counts: a process
// that wakes from a pause can come to one before the goroutine that beats has noticed.
func (a *attempt) lapsed() bool { return a.pulse.since() >= a.cfg.PresenceTTL }

// follow hands each newer control state to the owner.
func (a *attempt) follow(ctx context.Context) {
	for control, err := range a.cfg.Log.FollowControl(ctx, a.followOptions()) {
		if err != nil {
			a.stop(fmt.Errorf("follow the control feed: %w", err))
			return
		}
		select {
		case a.controls <- control:
		case <-ctx.Done():
			return
		}
	}
}
