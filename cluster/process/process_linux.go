package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// serverAttr gives a server its own process group, so that Ctrl-C in the terminal reaches only
// the harness, and makes the server end when the harness ends.
func serverAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitGroup waits for a server and ends the rest of its group. Otherwise a child that writes
// a snapshot could write it while the data is read or cut.
func awaitGroup(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	// The server stays a zombie until the rest has ended: until then no other process group can
	// have its id.
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	syscall.Kill(-pid, syscall.SIGKILL)
	cmd.Wait()
	for began := time.Now(); groupRuns(pid) && time.Since(began) < time.Second; {
		time.Sleep(200 * time.Microsecond)
	}
}

// groupRuns reports whether a process of a group still runs. Zombies do not count.
func groupRuns(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, f := range all {
		if st, err := readStatFile(f); err == nil && st.group == group && st.state != "Z" && st.state != "X" {
			return true
		}
	}
	return false
}

// allStopped reports whether every thread of a process is stopped.
func allStopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, fmt.Errorf("list the threads of process %d: there are none", pid)
	}
	for _, t := range threads {
		st, err := readStatFile(t)
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH):
			// This thread has ended.
		case err != nil:
			return false, err
		case st.state != "T" && st.state != "t":
			return false, nil
		}
	}
	return true, nil
}
