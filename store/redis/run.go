package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/store"
)

// A slot that is on its way to another node answers scripts over several keys with TRYAGAIN, until it has arrived.
const (
	tryAgainAttempts = 20
	tryAgainPause    = 100 * time.Millisecond
)

// run sends a script, by its SHA if the server knows it.
func (s *Store) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) (any, error) {
	for attempt := 1; ; attempt++ {
		v, err := script.Run(ctx, s.client, keys, args...).Result()
		if err == nil || !goredis.HasErrorPrefix(err, "TRYAGAIN") || attempt == tryAgainAttempts {
			return v, err
		}
		pause := time.NewTimer(tryAgainPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		case <-pause.C:
		}
	}
}

// code sends a script that answers with a number.
func (s *Store) code(ctx context.Context, script *goredis.Script, keys []string, args ...any) (int64, error) {
	v, err := s.run(ctx, script, keys, args...)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("script answered %T, not a number", v)
	}
	return n, nil
}

// answered reports whether an error is the server's answer: it has refused, and nothing happened. Any other error leaves
// open what became of a write.
func answered(err error) bool {
	var e goredis.Error
	return errors.As(err, &e)
}

// unknown wraps the error of a write of which nobody knows whether it happened.
func unknown(errs ...error) error {
	return fmt.Errorf("%w: %w", store.ErrOutcomeUnknown, errors.Join(errs...))
}

// usable is asked before anything is sent, so that a context that is done already leaves no doubt about the outcome.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

// token are the first arguments of a fenced script.
func (s *Store) token() (epoch, instance string) {
	if s.fence.IsZero() {
		return "", ""
	}
	return s.fence.Epoch.String(), s.fence.Instance.String()
}

// writable refuses the writes of a job store without a token.
func (s *Store) writable(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.needsFence && s.fence.IsZero() {
		return fmt.Errorf("%w: the store was opened without a token", store.ErrFenced)
	}
	return nil
}

// stillLeading tells a coordinator that lost its token so even where there was nothing to write.
func (s *Store) stillLeading(ctx context.Context) error {
	if s.fence.IsZero() {
		return nil
	}
	epoch, instance := s.token()
	n, err := s.code(ctx, s.scripts.check, []string{s.keys.leader}, epoch, instance)
	if err == nil && n == codeFenced {
		return store.ErrFenced
	}
	return err
}

// wrongType reports whether a key holds something else than a string.
func wrongType(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") }
