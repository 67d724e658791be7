//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// serverAttr gives a server its own process group, so that a Ctrl-C in the
// terminal is for the harness alone.
func serverAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// allStopped takes the signal for the deed: this system does not tell the states
// of threads in a way that is worth asking.
func allStopped(int) (bool, error) { return true, nil }

// awaitGroup waits for a server.
func awaitGroup(cmd *exec.Cmd) { cmd.Wait() }
