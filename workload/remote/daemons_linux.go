package remote

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// endMarked kills all processes whose environment has an entry. It looks again until there is none, because a process
// may fork while the others are killed. A process that cleared its environment, or that may not be read, is not found.
func endMarked(entry string) {
	for range 100 {
		if killMarked([]byte(entry)) == 0 {
			return
		}
	}
}

func killMarked(entry []byte) (killed int) {
	folder, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || !marked(pid, entry) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if marked(pid, entry) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil { // the id may have become another's
			killed++
		}
		unix.Close(fd)
	}
	return killed
}

// marked reports whether the environment of a process has an entry. That of a zombie is empty.
func marked(pid int, entry []byte) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for one := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}
