package redisconn

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// LogTo sends what go-redis has to say to the logger instead of standard error, ten lines in ten seconds at most: during
// a failover it says the same thing for every connection. It is global, as go-redis has it; main calls it once.
func LogTo(logger zerolog.Logger) {
	sampled := logger.Sample(&zerolog.BurstSampler{Burst: 10, Period: 10 * time.Second})
	redis.SetLogger(adapter{sampled.With().Str("from", "go-redis").Logger()})
}

type adapter struct{ log zerolog.Logger }

func (a adapter) Printf(_ context.Context, format string, args ...any) {
	a.log.Debug().Msgf(format, args...)
}
