package redislog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// errProtocol: the peer does not speak RESP2 as it should.
var errProtocol = errors.New("redis protocol")

// replyError is an error that the server answered.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError makes it a [redis.Error].
func (replyError) RedisError() {}

// maxNesting bounds the arrays in arrays of an answer; XINFO STREAM needs 3.
const maxNesting = 8

// maxText is the longest text that Redis holds by default, in bytes.
const maxText = 512 << 20

// header is the first line of a value: its type, and a number for all but texts.
type header struct {
	kind byte
	n    int64 // value of ':', length of '$' and '*'; -1 means nil
	text string
}

func (h header) isNil() bool { return (h.kind == '$' || h.kind == '*') && h.n < 0 }

// header reads the first line of the next value. An error that the server answered is returned as a [replyError].
func (c *conn) header() (header, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return header{}, fmt.Errorf("%w: a line of more than %d bytes", errProtocol, readBuffer)
	}
	if err != nil {
		return header{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return header{}, fmt.Errorf("%w: line %q", errProtocol, line)
	}
	h := header{kind: line[0]}
	body := line[1 : len(line)-2]
	switch h.kind {
	case '-':
		return header{}, replyError(body)
	case '+':
		h.text = string(body)
		return h, nil
	case ':', '$', '*':
		n, ok := parseInt(body)
		if !ok {
			return header{}, fmt.Errorf("%w: line %q", errProtocol, line)
		}
		h.n = n
		return h, nil
	default:
		return header{}, fmt.Errorf("%w: line %q", errProtocol, line)
	}
}

// parseInt reads a number without making a string of it.
func parseInt(b []byte) (n int64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for _, d := range b {
		if d < '0' || d > '9' || n > math.MaxInt64/10 {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// array reads the head of an array that must have at least n elements, or -1 for nil.
func (c *conn) array(n int64) (int64, error) {
	h, err := c.header()
	switch {
	case err != nil:
		return 0, err
	case h.isNil():
		return -1, nil
	case h.kind != '*' || h.n < n:
		return 0, fmt.Errorf("%w: %q%d, want an array of at least %d", errProtocol, h.kind, h.n, n)
	default:
		return h.n, nil
	}
}

// bulk reads a text that must not be nil, and appends up to keep bytes of it to b; length is what it had.
func (c *conn) bulk(b []byte, keep int64) (out []byte, length int64, err error) {
	h, err := c.header()
	if err != nil {
		return b, 0, err
	}
	if h.kind != '$' || h.n < 0 || h.n > maxText {
		return b, 0, fmt.Errorf("%w: %q%d, want a text", errProtocol, h.kind, h.n)
	}
	n := min(h.n, keep)
	start := len(b)
	b = grow(b, int(n))
	if _, err := io.ReadFull(c.in, b[start:]); err != nil {
		return b[:start], h.n, err
	}
	return b, h.n, c.skip(h.n - n + 2)
}

// grow makes b n bytes longer.
func grow(b []byte, n int) []byte {
	if free := cap(b) - len(b); free < n {
		b = append(b[:cap(b)], make([]byte, n-free)...)[:len(b)]
	}
	return b[:len(b)+n]
}

func (c *conn) skip(n int64) error {
	for n > 0 {
		step := min(n, 1<<20)
		if _, err := c.in.Discard(int(step)); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// reply reads any value: nil, string, int64 or []any.
func (c *conn) reply() (any, error) { return c.value(0) }

func (c *conn) value(depth int) (any, error) {
	h, err := c.header()
	if err != nil {
		return nil, err
	}
	switch {
	case h.isNil():
		return nil, nil
	case h.kind == ':':
		return h.n, nil
	case h.kind == '+':
		return h.text, nil
	case h.kind == '$' && h.n > maxText:
		return nil, fmt.Errorf("%w: a text of %d bytes", errProtocol, h.n)
	case h.kind == '$':
		b := make([]byte, h.n)
		if _, err := io.ReadFull(c.in, b); err != nil {
			return nil, err
		}
		return string(b), c.skip(2)
	case depth == maxNesting:
		return nil, fmt.Errorf("%w: arrays nested more than %d deep", errProtocol, maxNesting)
	}
	var list []any
	for range h.n {
		v, err := c.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
