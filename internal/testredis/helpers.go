package testredis

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// maxPort leaves room for the cluster bus, which listens 10 000 above the port.
const (
	maxPort     = 55_000
	busOffset   = 10_000
	portLookups = 200
)

// binary finds redis-server or ends the test.
func binary(t testing.TB) string {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
		return bin
	case os.Getenv(RequireEnv) == "1":
		t.Fatalf("testredis: %s=1, but there is no redis-server on PATH; install it (make test does)", RequireEnv)
	default:
		t.Skip("testredis: skipped, needs redis-server on PATH (make test installs it)")
	}
	return ""
}

// freePort returns a port that nobody listens on at this moment, and neither on the cluster bus port of it.
func freePort() (int, error) {
	for range portLookups {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, err
		}
		if port > maxPort {
			continue
		}
		bus, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port + busOffset})
		if err != nil {
			continue
		}
		if err := bus.Close(); err != nil {
			return 0, err
		}
		return port, nil
	}
	return 0, errors.New("find a free port: none found")
}

// clientOptions turns off what newer servers are told and older ones answer with errors, which would show up in the
// error statistics of a test.
func clientOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr:                     addr,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func closeQuietly(t testing.TB, closer func() error) {
	if err := closer(); err != nil && !errors.Is(err, redis.ErrClosed) {
		t.Errorf("testredis: close client: %v", err)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func hasLine(text, line string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(text, "\r", ""), "\n"), line)
}
