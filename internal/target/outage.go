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
// It is a hook of the client, which sees every command, and a hook of the program's logger, which sees every line. Both only
// give reason to look; what it says is decided by a probe of the node that has the job: on a cluster others may come and go.
type outage struct {
	log   zerolog.Logger // without the hook
	probe func(ctx context.Context) error
	away  atomic.Bool
	// look is sent to by the hooks, which never wait: one place, since one look answers all.
	look chan struct{}

	mu    sync.Mutex
	since time.Time       // guarded by mu, as all below
	said  map[string]bool // texts of the outage; the program has a few dozen
}

var (
	_ redis.Hook   = (*outage)(nil)
	_ zerolog.Hook = (*outage)(nil)
)

const (
	probePause   = 250 * time.Millisecond // while Redis is away
	probeTimeout = 2 * time.Second
)

// watch hooks the client and returns the logger that the program is to use. key is one that the job's node has. stop ends
// the watching and waits for that.
func watch(ctx context.Context, client redis.UniversalClient, key string, logger zerolog.Logger) (hooked zerolog.Logger, stop func()) {
	o := &outage{log: logger, look: make(chan struct{}, 1)}
	o.probe = func(ctx context.Context) error { return client.Exists(ctx, key).Err() }
	if cluster, ok := client.(*redis.ClusterClient); ok { // the log speaks to the nodes themselves
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(o) })
	} else {
		client.AddHook(o)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // as long as the client, not as the call that opens it
	var running sync.WaitGroup
	running.Go(func() { o.run(ctx) })
	return logger.Hook(o), func() { cancel(); running.Wait() }
}

// run probes when there is reason to, and while Redis is away.
func (o *outage) run(ctx context.Context) {
	tick := time.NewTicker(probePause)
	defer tick.Stop()
	for {
		select {
		case <-o.look:
		case <-tick.C:
			if !o.away.Load() {
				continue
			}
		case <-ctx.Done():
			return
		}
		probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
		err := o.probe(probeCtx)
		cancel()
		if ctx.Err() == nil {
			o.saw(err)
		}
	}
}

// DialHook implements [redis.Hook]. A connection that cannot be made fails its command.
func (*outage) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		o.suspect(err)
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		o.suspect(err)
		return err
	}
}

// suspect asks for a look after an error that Redis did not send.
func (o *outage) suspect(err error) {
	if !o.away.Load() && !answered(err) && !ours(err) {
		o.ask()
	}
}

func (o *outage) ask() {
	select {
	case o.look <- struct{}{}:
	default: // there will be one anyway
	}
}

// ours tells an error that says nothing about Redis.
func ours(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrClosed) }

// saw takes the answer of a probe.
func (o *outage) saw(err error) {
	switch {
	case ours(err):
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
	if level < zerolog.WarnLevel {
		return
	}
	if !o.away.Load() {
		o.ask() // readers have connections of their own, which the client does not see
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
