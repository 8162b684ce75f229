package redislog_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between a client and a server: it can lead to another server, and lose answers.
type proxy struct {
	ctx context.Context //nolint:containedctx // of the test that it stands in
	l   net.Listener

	mu     sync.Mutex
	target string // guarded by mu, as all below
	lose   int    // cut the connection in place of the next answers, after the server gave them
	lost   int
	conns  map[net.Conn]bool
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ctx: t.Context(), l: l, target: target, conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

// lead sends new connections to another server, and cuts those that there are.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.cut()
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// loseAnswers cuts the connection in place of each of the next n answers.
func (p *proxy) loseAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.lost = n, 0
}

func (p *proxy) losses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *proxy) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	s, err := new(net.Dialer).DialContext(p.ctx, "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	p.mu.Lock()
	p.conns[c], p.conns[s] = true, true
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(s, c)
		_ = s.Close()
	})
	p.answer(c, s)
	_ = c.Close()
	_ = s.Close()
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	delete(p.conns, s)
	p.mu.Unlock()
}

// answer copies what the server says.
func (p *proxy) answer(c, s net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := s.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		lose := p.lose > 0
		if lose {
			p.lose--
			p.lost++
		}
		p.mu.Unlock()
		if lose {
			return
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}
