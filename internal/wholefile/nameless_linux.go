package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeNameless writes a file that has no name until it is complete. If the file system does not support
// this, it writes nothing and returns errors.ErrUnsupported.
func writeNameless(path string, mode fs.FileMode, write func(*os.File) error) error {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil { // for any reason: writeNamed gives a better error
		return errors.ErrUnsupported
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	name := fmt.Sprintf("/proc/self/fd/%d", fd)
	if _, err := os.Stat(name); err != nil {
		return errors.ErrUnsupported
	}
	if err := write(f); err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, name, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if !errors.Is(err, fs.ErrExist) {
		return named("link", path, err)
	}
	// A link cannot replace a file, so the complete file gets another name for a moment.
	beside := temporary(path)
	if err := unix.Linkat(unix.AT_FDCWD, name, unix.AT_FDCWD, beside, unix.AT_SYMLINK_FOLLOW); err != nil {
		return named("link", beside, err)
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

func named(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
