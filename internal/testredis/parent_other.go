//go:build !linux

package testredis

import "os/exec"

// dieWithParent does nothing where the kernel offers no parent-death signal; t.Cleanup ends the server there.
func dieWithParent(*exec.Cmd) {}
