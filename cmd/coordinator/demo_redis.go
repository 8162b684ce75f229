package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// demoServer is a Redis of the demo's own.
type demoServer struct {
	url, what string
	embedded  bool
	process   *child
	inside    *miniredis.Miniredis
}

// startRedis starts the redis-server of this machine on a free port with its files in dir; without one it starts an
// embedded one in this process, which is good for exactly this much.
func startRedis(ctx context.Context, dir string, died func(error)) (*demoServer, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return startEmbedded()
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	process, err := startChild(dir, "redis", os.Environ(), died, path,
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes", "--daemonize", "no")
	if err != nil {
		return nil, err
	}
	s := &demoServer{url: fmt.Sprintf("redis://127.0.0.1:%d", port), process: process}
	version, err := awaitRedis(ctx, fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	s.what = fmt.Sprintf("redis-server %s, started on 127.0.0.1:%d with its files in a temporary folder", version, port)
	return s, nil
}

func startEmbedded() (*demoServer, error) {
	inside := miniredis.NewMiniRedis()
	inside.ClockTTL(true) // without it no key would ever expire
	if err := inside.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	return &demoServer{
		url: "redis://" + inside.Addr(), embedded: true, inside: inside,
		what: "embedded (no redis-server on PATH): keeps nothing on disk, fit for a demo only",
	}, nil
}

// stop ends the server; a nil one is none.
func (s *demoServer) stop() {
	if s == nil {
		return
	}
	s.process.terminate()
	if s.inside != nil {
		s.inside.Close()
	}
}

func freePort(ctx context.Context) (int, error) {
	var listener net.ListenConfig
	l, err := listener.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

// awaitRedis waits until the server answers and returns its version.
func awaitRedis(ctx context.Context, addr string) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, MaxRetries: -1})
	defer func() { _ = client.Close() }() // it was used for nothing else
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		info, err := client.Info(ctx, "server").Result()
		if err == nil {
			_, rest, _ := strings.Cut(info, "redis_version:")
			version, _, _ := strings.Cut(rest, "\r\n")
			return version, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("it does not answer: %w", err)
		}
	}
}
