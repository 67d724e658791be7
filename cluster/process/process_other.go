//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// serverAttr gives a server its own process group, so that Ctrl-C in the terminal reaches only
// the harness.
func serverAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// allStopped always returns true: this system has no practical way to read the states of
// threads.
func allStopped(int) (bool, error) { return true, nil }

// awaitGroup waits for a server.
func awaitGroup(cmd *exec.Cmd) { cmd.Wait() }
