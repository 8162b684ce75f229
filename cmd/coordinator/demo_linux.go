package main

import "syscall"

// childAttributes makes the kernel end a child with the demo, however the demo ends, and keeps the terminal's Ctrl-C
// from it: the demo ends its children in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
