package redis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// cutter makes connections that lose answers: the server gets a script and runs it, and the connection breaks before
// the client has the answer.
type cutter struct {
	armed atomic.Int64 // so many answers are still to be lost
	lost  atomic.Int64
	onCut func() // called when an answer is lost; may be nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	script bool // the last thing written was a script
}

func (c *cutConn) Write(b []byte) (int, error) {
	c.script = bytes.Contains(b, []byte("\r\neval")) // evalsha or eval
	return c.Conn.Write(b)
}

// Read waits for the answer before it breaks, so that the script has certainly been run.
func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil || !c.script || bytes.HasPrefix(b[:n], []byte("-NOSCRIPT")) {
		return n, err
	}
	if c.cutter.armed.Add(-1) < 0 {
		c.cutter.armed.Store(0)
		return n, nil
	}
	c.cutter.lost.Add(1)
	if c.cutter.onCut != nil {
		c.cutter.onCut()
	}
	return 0, errors.Join(io.EOF, c.Close())
}

// client connects through the cutter; retries are go-redis's own.
func (c *cutter) client(t testing.TB, s *testredis.Server, retries int) *goredis.Client {
	t.Helper()
	o := s.Options()
	o.MaxRetries, o.DialerRetries = retries, 1
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &cutConn{Conn: conn, cutter: c}, err
	}
	client := goredis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
