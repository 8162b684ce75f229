package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/events"
)

// How long the reader waits for entries at most. A deadline that comes up while it waits is acted upon that much later.
const (
	leadingWait = 200 * time.Millisecond
	standbyWait = time.Second
)

// read follows the log from the position and hands each batch to the loop, until ctx ends. It closes the channel.
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
