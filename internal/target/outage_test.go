package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestAnOutageIsTwoLinesAndEachWarningOnce(t *testing.T) {
	var out bytes.Buffer
	o := &outage{log: zerolog.New(&out), look: make(chan struct{}, 1)}
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

func TestARealOutageIsFoundAndItsEndToo(t *testing.T) {
	s := testredis.Start(t)
	options := s.Options()
	options.MaxRetries = -1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	said := make(lines, 100)
	log, stop := watch(t.Context(), client, "any", zerolog.New(said))
	defer stop()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	log.Warn().Msg("of something else")
	said.await(t, "of something else")
	s.Stop()
	if client.Ping(t.Context()).Err() == nil {
		t.Fatal("a stopped server answers")
	}
	said.await(t, "redis cannot be reached")
	s.Restart()
	said.await(t, "redis answers again")
	s.Stop()
	log.Warn().Msg("read the log") // the client has sent nothing
	said.await(t, "read the log")
	said.await(t, "redis cannot be reached")
}

// lines is sent to by loggers, a line each, and read by its test.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// await reads the next line, which must hold the text.
func (l lines) await(t *testing.T, text string) {
	t.Helper()
	select {
	case line := <-l:
		if !strings.Contains(line, text) {
			t.Fatalf("it said %s, want %q", line, text)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("it did not say %q", text)
	}
}
