package redislog

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const readBuffer = 64 << 10

// replicaError is what a connection to a replica is refused with: it may lack the end of the log.
type replicaError struct{ addr string }

func (e replicaError) Error() string { return "connected to a replica at " + e.addr }

// conn is a reader's own connection. It speaks RESP2, one command or a few at a time.
type conn struct {
	net net.Conn
	in  *bufio.Reader
	out []byte
	// timeout is for a write and for each piece of an answer; the first piece may take block longer.
	timeout, block time.Duration
	// stop keeps the end of the context from closing the connection.
	stop func() bool
}

// dial connects to the node that has the job's slot, as the client would. The end of ctx closes the connection, which ends
// a blocked read at once. The caller closes it.
func (l *Log) dial(ctx context.Context) (*conn, error) {
	node, err := l.node(ctx)
	if err != nil {
		return nil, fmt.Errorf("find node: %w", err)
	}
	o := node.Options()
	nc, err := o.Dialer(ctx, o.Network, o.Addr)
	if err != nil {
		return nil, err
	}
	c := &conn{net: nc, timeout: l.timeout}
	c.in = bufio.NewReaderSize(c, readBuffer)
	c.stop = context.AfterFunc(ctx, func() { _ = nc.Close() })
	if err := c.greet(ctx, o); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() {
	c.stop()
	_ = c.net.Close() // nothing is lost: what was not read is read again
}

// greet authenticates, selects the database, and refuses a replica. All goes out in one piece, and the answers are read in order.
func (c *conn) greet(ctx context.Context, o *redis.Options) error {
	user, password, err := credentials(ctx, o)
	if err != nil {
		return fmt.Errorf("get credentials: %w", err)
	}
	sent := 1
	switch {
	case password != "" && user != "":
		c.command("AUTH", user, password)
		sent++
	case password != "":
		c.command("AUTH", password)
		sent++
	}
	if o.DB != 0 {
		c.command("SELECT", strconv.Itoa(o.DB))
		sent++
	}
	c.command("ROLE")
	if err := c.flush(0); err != nil {
		return err
	}
	for range sent - 1 {
		if _, err := c.reply(); err != nil {
			return err
		}
	}
	role, err := c.reply()
	if _, refused := err.(replyError); err != nil && !refused { //nolint:errorlint // a reply is never wrapped here
		return err
	}
	if list, ok := role.([]any); ok && len(list) > 0 && list[0] == "slave" {
		return replicaError{c.net.RemoteAddr().String()}
	}
	return nil // a server that has no ROLE (miniredis), or does not let us ask, has no replicas that we could find out
}

func credentials(ctx context.Context, o *redis.Options) (user, password string, err error) {
	switch {
	case o.StreamingCredentialsProvider != nil:
		return "", "", fmt.Errorf("a streaming credentials provider is not supported by the readers of the log")
	case o.CredentialsProviderContext != nil:
		return o.CredentialsProviderContext(ctx)
	case o.CredentialsProvider != nil:
		user, password = o.CredentialsProvider()
		return user, password, nil
	default:
		return o.Username, o.Password, nil
	}
}

// command adds a command to what flush sends.
func (c *conn) command(args ...string) {
	c.out = append(c.out, '*')
	c.out = strconv.AppendInt(c.out, int64(len(args)), 10)
	c.out = append(c.out, "\r\n"...)
	for _, a := range args {
		c.out = append(c.out, '$')
		c.out = strconv.AppendInt(c.out, int64(len(a)), 10)
		c.out = append(c.out, "\r\n"...)
		c.out = append(c.out, a...)
		c.out = append(c.out, "\r\n"...)
	}
}

// flush sends the commands, the first of which may block so long.
func (c *conn) flush(block time.Duration) error {
	out := c.out
	c.out, c.block = c.out[:0], block
	if err := c.net.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.net.Write(out)
	return err
}

// Read implements [io.Reader] for the buffer: the clock runs only while we wait, so neither a slow receiver of batches nor a long
// answer over a slow line runs into the timeout.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(c.block + c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.net.Read(b)
	c.block = 0
	return n, err
}

// ask sends one command that does not block, and reads its answer.
func (c *conn) ask(args ...string) (any, error) {
	c.command(args...)
	if err := c.flush(0); err != nil {
		return nil, err
	}
	return c.reply()
}
