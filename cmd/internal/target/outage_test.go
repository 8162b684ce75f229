package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAnOutageIsTwoLinesAndEachWarningOnce(t *testing.T) {
	var out bytes.Buffer
	o := &outage{log: zerolog.New(&out)}
	log := o.log.Hook(o)
	const times = 50
	warn := func() {
		for range times {
			log.Warn().Err(io.EOF).Msg("renew the lease")
			log.Error().Err(io.EOF).Msg("read the log")
			log.Info().Msg("life goes on")
		}
	}
	o.saw(nil)
	for range times {
		o.saw(io.EOF)
	}
	warn()
	for range times {
		o.saw(nil)
	}
	for text, want := range map[string]int{
		"redis cannot be reached": 1, "redis answers again": 1, "renew the lease": 1, "read the log": 1, "life goes on": times,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q stands %d times, want %d", text, got, want)
		}
	}
	out.Reset()
	warn()
	if got := strings.Count(out.String(), "renew the lease"); got != times {
		t.Errorf("with redis there, %d of %d warnings are logged", got, times)
	}
}

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestWhatSaysThatRedisIsAway(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		away bool
	}{
		{"a connection that ended", io.EOF, true},
		{"no answer in time", context.DeadlineExceeded, true},
		{"a server that loads its data", reply("LOADING Redis is loading the dataset in memory"), true},
		{"a master that became a replica", reply("READONLY You can't write against a read only replica."), true},
		{"nothing found", redis.Nil, false},
		{"a refusal", reply("NOPERM this user has no permissions"), false},
		{"a command that we gave up", context.Canceled, false},
		{"a client that we closed", redis.ErrClosed, false},
		{"a wrapped connection error", errors.Join(errors.New("read"), io.ErrUnexpectedEOF), true},
	} {
		o := &outage{log: zerolog.Nop()}
		o.saw(c.err)
		if o.away.Load() != c.away {
			t.Errorf("%s: away %v, want %v", c.name, o.away.Load(), c.away)
		}
	}
}

func TestTheClientTellsOfARealOutage(t *testing.T) {
	s := testredis.Start(t)
	options := s.Options()
	options.MaxRetries = -1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	var out bytes.Buffer
	_ = watch(client, zerolog.New(&out))
	s.Stop()
	for range 3 {
		if client.Ping(t.Context()).Err() == nil {
			t.Fatal("a stopped server answers")
		}
	}
	s.Restart()
	if _, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error { return p.Ping(t.Context()).Err() }); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "cannot be reached") != 1 || strings.Count(out.String(), "answers again") != 1 {
		t.Errorf("it said\n%s", out.String())
	}
}
