package remote

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit waits until a child has ended, and does not reap it: until it is reaped, no other
// process can get its id.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
