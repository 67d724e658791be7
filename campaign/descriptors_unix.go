//go:build unix

package campaign

import "golang.org/x/sys/unix"

// descriptorLimit returns how many file descriptors this process may have.
func descriptorLimit() (most uint64, known bool) {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r)
	return uint64(r.Cur), err == nil
}
