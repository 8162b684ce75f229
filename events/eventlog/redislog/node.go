package redislog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// redirects is how often a command follows a slot that moves; the map of the cluster is fetched anew in between.
const (
	redirects     = 5
	redirectPause = 20 * time.Millisecond
)

// node is the client of the node that has the job's slot. On a cluster commands go to it and not through the cluster
// client, which would send them again after any network error, whatever MaxRetries says.
func (l *Log) node(ctx context.Context) (*redis.Client, error) {
	switch c := l.client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, l.keys.Log())
	default:
		return nil, fmt.Errorf("unsupported client %T", c)
	}
}

// on runs f on the job's node, and again when the slot has moved: such a reply means that nothing was done.
func (l *Log) on(ctx context.Context, f func(node *redis.Client) error) error {
	for tries := 0; ; tries++ {
		node, err := l.node(ctx)
		if err != nil {
			return notSentError{err}
		}
		err = f(node)
		if tries == redirects || !moved(err) {
			return err
		}
		l.reload(ctx)
		if pause(ctx, redirectPause) != nil {
			return err
		}
	}
}

// reload has the cluster client fetch its map of slots again.
func (l *Log) reload(ctx context.Context) {
	if c, ok := l.client.(*redis.ClusterClient); ok {
		c.ReloadState(ctx)
	}
}

func moved(err error) bool { return hasPrefix(err, "MOVED ", "ASK ", "TRYAGAIN") }

// hasPrefix reports whether err is an error reply of the server that begins with one of the words.
func hasPrefix(err error, words ...string) bool {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	for _, w := range words {
		if strings.HasPrefix(reply.Error(), w) {
			return true
		}
	}
	return false
}

// canPass tells an error that waiting may repair from one that it will not. All but these replies can pass.
func canPass(err error) bool {
	if errors.Is(err, redis.ErrClosed) {
		return false
	}
	if _, isReply := errors.AsType[redis.Error](err); !isReply {
		return true
	}
	if hasPrefix(err, "ERR max number of clients") {
		return true
	}
	return !hasPrefix(err, "ERR", "WRONGTYPE", "NOAUTH", "NOPERM", "WRONGPASS", "EXECABORT", "CROSSSLOT", "NOPROTO")
}

// notSentError is an error before anything was sent.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

// outcome makes err an unknown outcome unless it is known that nothing happened.
func outcome(op string, err error) error {
	if err == nil || knownNotDone(err) {
		return err
	}
	return &eventlog.UnknownOutcomeError{Op: op, Err: err}
}

func knownNotDone(err error) bool {
	if _, isReply := errors.AsType[redis.Error](err); isReply {
		return true
	}
	if _, ok := errors.AsType[notSentError](err); ok {
		return true
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	return errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}
