//go:build unix

package campaign

import "golang.org/x/sys/unix"

// descriptorLimit returns the number of file descriptors that this process may open.
func descriptorLimit() (most uint64, known bool) {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r)
	return uint64(r.Cur), err == nil
}
