//go:build unix && !linux

package remote

import "golang.org/x/sys/unix"

// awaitExit waits until a child has ended.
func awaitExit(pid int) {
	var status unix.WaitStatus
	_, _ = unix.Wait4(pid, &status, 0, nil)
}
