package testredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RequireEnv is the environment variable that, set to 1, turns "no redis-server, skipped" into a failure.
const RequireEnv = "TIDEMARK_REQUIRE_REDIS"

const (
	startLimit    = 20 * time.Second      // a loaded two-core machine needs about 1 s
	pollInterval  = 10 * time.Millisecond // between two PINGs while a server comes up
	startAttempts = 5                     // a free port may be taken before the server binds it
)

// Server is one running redis-server. Make one with [Start].
type Server struct {
	t    testing.TB
	bin  string
	port int
	dir  string
	args []string
	proc *os.Process
	done chan struct{} // closed by the waiter of this process when it has been reaped; nothing is sent
}

// Start runs a redis-server for the test and returns when it answers PING. It has no persistence unless args, given
// to the server as they are, turn it on. The server is killed when the test ends.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	bin := binary(t)
	var err error
	for range startAttempts {
		s := &Server{t: t, bin: bin, dir: t.TempDir(), args: args}
		if s.port, err = freePort(); err != nil {
			continue
		}
		if err = s.up(t.Context()); err == nil {
			t.Cleanup(s.Stop)
			return s
		}
		s.Stop()
	}
	t.Fatalf("testredis: start redis-server: %v", err)
	return nil
}

// Addr is the address as host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the address as redis://host:port/0.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// PID is the process id of the running server.
func (s *Server) PID() int { return s.proc.Pid }

// Dir is the folder where the server keeps its log and, if it was told to persist, its data.
func (s *Server) Dir() string { return s.dir }

// Options are the client options for this server, with what go-redis sends on its own account turned off. The caller
// may change them.
func (s *Server) Options() *redis.Options { return clientOptions(s.Addr()) }

// Client is a new client for this server. It is closed when the test ends; closing it before is harmless.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { closeQuietly(t, c.Close) })
	return c
}

// Stop kills the server (SIGKILL) and returns when the process is gone. Stopping twice is harmless.
func (s *Server) Stop() {
	if s.proc == nil {
		return
	}
	if err := s.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("testredis: kill %d: %v", s.proc.Pid, err)
	}
	<-s.done
	s.proc = nil
}

// Restart stops the server and starts it again with the same port, folder and arguments. What it still knows afterwards
// depends on the persistence it was started with; by default nothing.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.up(s.t.Context()); err != nil {
		s.t.Fatalf("testredis: restart redis-server: %v", err)
	}
}

// Pause freezes the server (SIGSTOP): connections stay open and nothing is answered.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume wakes a paused server (SIGCONT).
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.proc.Signal(sig); err != nil {
		s.t.Fatalf("testredis: signal %v to %d: %v", sig, s.proc.Pid, err)
	}
}

// up starts the process and waits until it answers.
func (s *Server) up(ctx context.Context) error {
	if err := s.spawn(); err != nil {
		return err
	}
	c := redis.NewClient(s.Options())
	defer func() { closeQuietly(s.t, c.Close) }()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		// The pid is compared, since a server of somebody else may answer on a port that ours could not bind.
		info, err := c.Info(ctx, "server").Result()
		if err == nil && hasLine(info, "process_id:"+strconv.Itoa(s.proc.Pid)) {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("redis-server ended: %s", s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("no answer after %v (%w): %s", startLimit, err, s.logTail())
		case <-tick.C:
		}
	}
}

// spawn starts the process together with the goroutine that reaps it. That goroutine keeps its thread for as long as
// the process lives, because Linux sends the parent-death signal when the starting thread ends, not the process.
func (s *Server) spawn() error {
	args := []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", filepath.Join(s.dir, "redis.log"),
	}
	cmd := exec.Command(s.bin, append(args, s.args...)...) //nolint:noctx // ended by Stop, which waits for it
	cmd.Dir = s.dir
	dieWithParent(cmd)
	started := make(chan error, 1) // one send by the reaper, room for it so that it never waits
	done := make(chan struct{})
	go func() { // joined by Stop through done
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // killed by us: the exit status says nothing
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("run %s: %w", s.bin, err)
	}
	s.proc, s.done = cmd.Process, done
	return nil
}

func (s *Server) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}
