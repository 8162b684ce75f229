package redislog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Config makes a Log. Job and Client are mandatory.
type Config struct {
	Job events.JobID
	// Client is a *redis.Client (single node or Sentinel) or *redis.ClusterClient that never sends a command twice by
	// itself; [Tune] sets that. It may be shared, and is never closed here.
	Client redis.UniversalClient
	// Embedded is for miniredis: readers poll instead of blocking, since each blocked read slows all its commands down.
	Embedded bool
	// Timeout is how long a reader waits for the next piece of an answer, on top of the time that it lets the server block; 0 means
	// DefaultTimeout. The client's own timeouts hold for all other commands.
	Timeout time.Duration
	// OnRetry is told each error after which Publish tries again. It must not block; nil means that nobody wants to know.
	OnRetry func(err error, wait time.Duration)
}

// DefaultTimeout is Config.Timeout when it is 0.
const DefaultTimeout = 5 * time.Second

// Tune sets what a client for [Open] needs, and what keeps it quiet: no command is sent twice, a deadline of the context holds, an
// exhausted pool or a refused connection shows within a second (all waiting is done here), and the server is not told what older ones
// answer with errors.
func Tune(o *redis.UniversalOptions) {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.PoolTimeout = time.Second
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Log is the log of one job on Redis. Make it with [Open].
type Log struct {
	job       events.JobID
	keys      eventlog.Keys
	client    redis.UniversalClient
	embedded  bool
	timeout   time.Duration
	onRetry   func(err error, wait time.Duration)
	scripts   scripts
	publisher message.Publisher
}

var _ eventlog.Job = (*Log)(nil)

// Open checks the configuration and makes the log; it does not connect. There is nothing to close.
func Open(c Config) (*Log, error) {
	if _, err := events.ParseJobID(string(c.Job)); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := checkClient(c.Client); err != nil {
		return nil, fmt.Errorf("open log of %s: %w", c.Job, err)
	}
	l := &Log{
		job: c.Job, keys: eventlog.KeysOf(c.Job), client: c.Client, embedded: c.Embedded, onRetry: c.OnRetry,
		timeout: c.Timeout, scripts: newScripts(),
	}
	if l.timeout <= 0 {
		l.timeout = DefaultTimeout
	}
	var err error
	if l.publisher, err = newPublisher(l); err != nil {
		return nil, fmt.Errorf("open log of %s: %w", c.Job, err)
	}
	return l, nil
}

func checkClient(client redis.UniversalClient) error {
	var retries int
	switch c := client.(type) {
	case *redis.Client:
		retries = c.Options().MaxRetries
	case *redis.ClusterClient:
		retries = c.Options().MaxRetries
	default:
		return fmt.Errorf("client is a %T, want *redis.Client or *redis.ClusterClient", client)
	}
	if retries > 0 {
		return fmt.Errorf("client sends a command up to %d times, which appends an event as often; set MaxRetries to -1", retries+1)
	}
	return nil
}

// Job implements [eventlog.Job].
func (l *Log) Job() events.JobID { return l.job }

// Last implements [eventlog.Reader].
func (l *Log) Last(ctx context.Context) (at events.Position, ok bool, err error) {
	c, err := l.dial(ctx)
	if err != nil {
		return at, false, fmt.Errorf("last position of %s: %w", l.job, err)
	}
	defer c.close()
	state, err := c.streamState(l.keys.Log())
	if err != nil {
		return at, false, fmt.Errorf("last position of %s: %w", l.job, causeOr(ctx, err))
	}
	return state.Last, state.Exists, nil
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// causeOr is why ctx ended if it did, since then it is the reason of err too.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// backoff is the wait before the next attempt: 20 ms, doubled up to 1 s.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, 20*time.Millisecond), time.Second)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }
