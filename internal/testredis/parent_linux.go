package testredis

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the server when the test binary dies, by a timeout panic for instance.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
