//go:build unix

package main

import "syscall"

// pause stops a process without its knowing; resume lets it go on.
func (c *child) pause() error  { return c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) resume() error { return c.cmd.Process.Signal(syscall.SIGCONT) }
