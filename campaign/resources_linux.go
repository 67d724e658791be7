package campaign

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// freeDisk returns how many bytes this user can still write into a folder. If the folder does not exist yet,
// it returns those of the working directory.
func freeDisk(folder string) (free int64, known bool) {
	var s unix.Statfs_t
	err := unix.Statfs(folder, &s)
	if err != nil {
		err = unix.Statfs(".", &s)
	}
	return int64(s.Bavail) * int64(s.Bsize), err == nil
}

// freeMemory returns how many bytes of memory programs can still use without swapping.
func freeMemory() (free int64, known bool) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(info, []byte("MemAvailable:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kB, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kB << 10, err == nil
}
