package target

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// outage watches the client and says once that Redis is away, and once that it is back. While it is away, each warning of
// the program is logged the first time only: everything that needs Redis fails then, some of it several times a second.
//
// It is a hook of the client, which sees every command, and a hook of the program's logger, which sees every line.
type outage struct {
	log  zerolog.Logger // without the hook
	away atomic.Bool

	mu    sync.Mutex
	since time.Time       // guarded by mu, as all below
	said  map[string]bool // texts of the outage; the program has a few dozen
}

var (
	_ redis.Hook   = (*outage)(nil)
	_ zerolog.Hook = (*outage)(nil)
)

// watch hooks the client and returns the logger that the program is to use.
func watch(client redis.UniversalClient, logger zerolog.Logger) zerolog.Logger {
	o := &outage{log: logger}
	if cluster, ok := client.(*redis.ClusterClient); ok { // the log speaks to the nodes themselves
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(o) })
	} else {
		client.AddHook(o)
	}
	return logger.Hook(o)
}

// DialHook implements [redis.Hook]. A connection that cannot be made fails its command.
func (*outage) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		o.saw(err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		o.saw(err)
		return err
	}
}

func (o *outage) saw(err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, redis.ErrClosed): // ours, it says nothing about Redis
	case answered(err):
		if o.away.Load() {
			o.back()
		}
	case !o.away.Load():
		o.gone(err)
	}
}

func (o *outage) gone(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away.Swap(true) {
		return
	}
	o.since, o.said = time.Now(), map[string]bool{}
	o.log.Warn().Err(err).Msg("redis cannot be reached; trying until it answers")
}

func (o *outage) back() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away.Swap(false) {
		o.log.Info().Str("away_for", time.Since(o.since).Round(time.Millisecond).String()).Msg("redis answers again")
	}
}

// Run implements [zerolog.Hook].
func (o *outage) Run(e *zerolog.Event, level zerolog.Level, text string) {
	if level < zerolog.WarnLevel || !o.away.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[text] {
		e.Discard()
		return
	}
	o.said[text] = true
}

// answered reports whether a server that can work has answered, if only with an error.
func answered(err error) bool {
	if err == nil {
		return true
	}
	reply := redis.Error(nil)
	if !errors.As(err, &reply) {
		return false
	}
	for _, word := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY"} {
		if strings.HasPrefix(reply.Error(), word) {
			return false
		}
	}
	return true
}
