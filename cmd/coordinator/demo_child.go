package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// child is a process that the demo started. The methods of a nil child do nothing.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read after done
}

// startChild starts a program; what it writes goes to <dir>/<name>.log.
func startChild(dir, name, path string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()                                                   // the child has its own descriptor
	c := &child{name: name, cmd: exec.Command(path, args...), done: make(chan struct{})} //nolint:noctx // ended by hand: by the signal that the story asks for
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = childAttributes()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// startSelf starts a verb of this program.
func startSelf(dir, name string, args ...string) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return startChild(dir, name, path, args...)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends it without a word and waits for that.
func (c *child) kill() {
	if c == nil {
		return
	}
	_ = c.cmd.Process.Kill() // an error says that it has ended
	<-c.done
}

// terminate asks it to end, and kills it if it takes longer than five seconds.
func (c *child) terminate() {
	if c == nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	select {
	case <-c.done:
	case <-time.After(5 * time.Second):
		c.kill()
	}
}
