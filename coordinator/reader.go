package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// How long the reader waits for entries at most.
const (
	leadingWait = 200 * time.Millisecond
	standbyWait = time.Second
)

// read follows the log from the position and hands each batch to the loop, until ctx ends. It closes the channel. Behind a
// batch that reached the end of the log it waits until the loop has decided upon it: only then is the next deadline
// known, and with it how long the next read may wait.
func (l *loop) read(ctx context.Context, after events.Position) error {
	defer close(l.batches)
	for batch, err := range l.cfg.Log.Follow(ctx, after, l.followOptions()) {
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("follow the log of job %s: %w", l.cfg.Job, err)
		}
		select {
		case l.batches <- batch:
		case <-ctx.Done():
			return nil
		}
		if !batch.AtEnd {
			continue
		}
		select {
		case <-l.turned:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// wait is how long the next read may wait: until the next deadline.
func (l *loop) wait() time.Duration {
	wake := time.Duration(l.wake.Load())
	if wake == 0 {
		return standbyWait
	}
	return min(max(wake-l.clock(), 0), leadingWait)
}

// followOptions tell the log how long a read may wait, and us of each reconnect.
func (l *loop) followOptions() eventlog.FollowOptions {
	return eventlog.FollowOptions{
		MaxWait: l.wait,
		OnRetry: func(err error, wait time.Duration) {
			l.log.Warn().Err(err).Dur("again_in_ms", wait).Msg("read the log")
		},
	}
}
