package process

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// inode returns a path's inode, with its time of birth if the file system records one.
func inode(path string) (uint64, file, error) {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s)
	if err != nil {
		return 0, file{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	f := file{path: path, dir: s.Mode&unix.S_IFMT == unix.S_IFDIR}
	if s.Mode&unix.S_IFMT == unix.S_IFREG {
		f.size = int64(s.Size)
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		f.birth = uint64(s.Btime.Sec)*uint64(time.Second) + uint64(s.Btime.Nsec)
	}
	return s.Ino, f, nil
}
