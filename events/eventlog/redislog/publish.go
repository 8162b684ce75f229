package redislog

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// newPublisher makes the stock publisher on top of the log's client.
func newPublisher(l *Log) (message.Publisher, error) {
	return redisstream.NewPublisher(redisstream.PublisherConfig{Client: onceClient{l.client, l}}, nil)
}

// onceClient is the client as the stock publisher sees it: what it sends goes to the job's node, where nothing is sent
// twice by itself, and closing the publisher does not close a client that others use.
type onceClient struct {
	redis.UniversalClient
	log *Log
}

// XAdd sends the fields in a fixed order: the publisher hands over a map, whose order changes and costs the stream a sixth
// of its memory. An empty metadata field is left out.
func (c onceClient) XAdd(ctx context.Context, a *redis.XAddArgs) *redis.StringCmd {
	if values, ok := a.Values.(map[string]any); ok {
		fixed := *a
		ordered := []any{events.FieldID, values[events.FieldID], events.FieldPayload, values[events.FieldPayload]}
		if metadata, _ := values["metadata"].([]byte); len(metadata) > 0 {
			ordered = append(ordered, "metadata", metadata)
		}
		fixed.Values = ordered
		a = &fixed
	}
	var cmd *redis.StringCmd
	err := c.log.on(ctx, func(node *redis.Client) error {
		cmd = node.XAdd(ctx, a)
		return cmd.Err()
	})
	if cmd == nil {
		cmd = redis.NewStringCmd(ctx)
		cmd.SetErr(err)
	}
	return cmd
}

// Close leaves the client open.
func (onceClient) Close() error { return nil }

// Publish implements [eventlog.Publisher].
func (l *Log) Publish(ctx context.Context, envs ...events.Envelope) error {
	for _, env := range envs {
		wires, err := eventlog.ToWire(env)
		if err == nil {
			err = l.publish(ctx, wires[0])
		}
		if err != nil {
			return fmt.Errorf("publish %s to log of %s: %w", env.Kind(), l.job, err)
		}
	}
	return nil
}

// publish repeats until the event is known to be in the log, or ctx ends, or no repeating helps.
func (l *Log) publish(ctx context.Context, w eventlog.Wire) error {
	var (
		retry   backoff
		unknown bool // some attempt may have succeeded
	)
	for {
		if err := context.Cause(ctx); err != nil {
			return ended(unknown, err)
		}
		m := message.NewMessage(string(w.ID), w.Payload)
		m.SetContext(ctx)
		err := l.publisher.Publish(l.keys.Log(), m)
		if err == nil || !canPass(err) {
			return err
		}
		unknown = unknown || !knownNotDone(err)
		wait := retry.next()
		if l.onRetry != nil && ctx.Err() == nil {
			l.onRetry(err, wait)
		}
		if cause := pause(ctx, wait); cause != nil {
			return ended(unknown, errors.Join(cause, err))
		}
	}
}

// ended is the error of a publish that ctx cut short.
func ended(unknown bool, err error) error {
	if unknown {
		return &eventlog.UnknownOutcomeError{Op: "publish", Err: err}
	}
	return err
}
