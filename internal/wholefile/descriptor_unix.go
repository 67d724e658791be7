//go:build unix

package wholefile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownDescriptor matches the names of a process's descriptors; %d stands for its process ID.
const ownDescriptor = `^(?:/dev/fd|/proc/(?:self|%d)/fd)/(\d{1,9})$`

// descriptorOf returns the number of the descriptor of this process that a path names. To open the path
// instead would write over the beginning of a regular file, and does not work for a socket.
func descriptorOf(path string) (int, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, false
	}
	switch path {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	match := regexp.MustCompile(fmt.Sprintf(ownDescriptor, os.Getpid())).FindStringSubmatch(path)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	return n, err == nil
}

// openDescriptor opens a copy of a descriptor; name is for errors.
func openDescriptor(descriptor int, name string) (*os.File, error) {
	copied, err := unix.FcntlInt(uintptr(descriptor), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(copied), name), nil
}
