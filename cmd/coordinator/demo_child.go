package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidemark-stream/tidemark/internal/settings"
)

// child is a process that the demo started. The methods of a nil child do nothing.
type child struct {
	name   string
	cmd    *exec.Cmd
	mayEnd atomic.Bool   // somebody has asked it to, or it has nothing more to do
	done   chan struct{} // closed by the goroutine that waits for its end
	err    error         // how it ended; read after done
}

// diedError is why the demo ends when a process of it has ended by itself.
type diedError struct {
	name string
	err  error // nil: with exit code 0
}

func (e diedError) Error() string {
	if e.err == nil {
		return e.name + " ended before its time"
	}
	return fmt.Sprintf("%s ended before its time: %v", e.name, e.err)
}

func (e diedError) Unwrap() error { return e.err }

// startChild starts a program; what it writes goes to <dir>/<name>.log. If it ends without having been told to, died
// is called.
func startChild(dir, name string, env []string, died func(error), path string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()                                                   // the child has its own descriptor
	c := &child{name: name, cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // ended by hand: by the signal that the story asks for
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = childAttributes()
	c.cmd.Env = env
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { // joined through done
		c.err = c.cmd.Wait()
		close(c.done)
		if !c.mayEnd.Load() {
			died(diedError{name, c.err})
		}
	}()
	return c, nil
}

// startSelf starts a verb of this program. The address of Redis is in the environment: everybody can read a command
// line, and there may be a password in it. No other setting of the demo's own environment counts.
func (d *demo) startSelf(name string, died func(error), args ...string) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, settings.Prefix) })
	return startChild(d.dir, name, append(env, settings.EnvName("redis")+"="+d.redisURL), died, path, append(args, d.args...)...)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends it without a word and waits for that.
func (c *child) kill() {
	if c == nil {
		return
	}
	c.mayEnd.Store(true)
	_ = c.cmd.Process.Kill() // an error says that it has ended
	<-c.done
}

// terminate asks it to end, and kills it if it takes longer than five seconds.
func (c *child) terminate() {
	if c == nil {
		return
	}
	c.mayEnd.Store(true)
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	select {
	case <-c.done:
	case <-time.After(5 * time.Second):
		c.kill()
	}
}

// lastWords are the last lines of a process' own log.
func lastWords(dir, name string) string {
	const most = 8
	b, err := os.ReadFile(filepath.Join(dir, name+".log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-most):], "\n  ")
}
