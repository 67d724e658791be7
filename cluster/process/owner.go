package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// identity identifies a process uniquely: the system reuses process ids, but never together
// with the start time of the process.
type identity struct {
	Pid   int
	start string // digits: clock ticks since boot, or seconds since 1970; "0" if unknown
}

func (i identity) String() string { return fmt.Sprintf("%d@%s", i.Pid, i.start) }

func ParseIdentity(s string) (identity, error) {
	pid, start, ok := strings.Cut(strings.TrimSpace(s), "@")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil || n <= 0 || start == "" {
		return identity{}, fmt.Errorf("%q is not a process identity: want <pid>@<start time>", s)
	}
	return identity{n, start}, nil
}

// identify returns the identity of the process with this id.
func identify(pid int) identity {
	if st, err := readStat(pid); err == nil {
		return identity{pid, st.start}
	}
	return identity{pid, "0"}
}

// Alive reports whether this process still runs. A zombie does not: it only waits for its
// parent.
func (i identity) Alive() bool {
	st, err := readStat(i.Pid)
	switch {
	case err == nil && i.start != "0":
		return st.start == i.start && st.state != "Z" && st.state != "X"
	case errors.Is(err, os.ErrNotExist):
		return false
	default:
		// Any process with that id counts as the same one: it is better to leave something
		// behind than to remove files that are in use.
		return syscall.Kill(i.Pid, 0) != syscall.ESRCH
	}
}

var hasProc = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
})

// stat holds the state of a process as the system reports it.
type stat struct {
	state string // R, S, D, T, Z, …
	group int    // the process group; 0 if only ps was available
	start string
}

// readStat reads /proc, or calls ps if there is none. The error wraps os.ErrNotExist if there
// is no such process.
func readStat(pid int) (stat, error) {
	if hasProc() {
		return readStatFile(fmt.Sprintf("/proc/%d/stat", pid))
	}
	ps := exec.Command("ps", "-o", "state=", "-o", "lstart=", "-p", strconv.Itoa(pid))
	ps.Env = append(os.Environ(), "LC_ALL=C")
	out, err := ps.Output()
	if len(out) == 0 && errors.As(err, new(*exec.ExitError)) {
		return stat{}, fmt.Errorf("ps -p %d: %w", pid, os.ErrNotExist)
	}
	if err != nil {
		return stat{}, fmt.Errorf("ps -p %d: %w", pid, err)
	}
	return parsePS(string(out))
}

// parsePS reads "Ss   Fri Nov 20 09:01:00 2026".
func parsePS(s string) (stat, error) {
	state, start, _ := strings.Cut(strings.TrimSpace(s), " ")
	at, err := time.ParseInLocation(time.ANSIC, strings.TrimSpace(start), time.Local)
	if err != nil || state == "" {
		return stat{}, fmt.Errorf("ps said %q: want a state and a start time", s)
	}
	return stat{state: state[:1], start: strconv.FormatInt(at.Unix(), 10)}, nil
}

func readStatFile(path string) (stat, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	// The format is "pid (name) state ppid …", and start is field 22. The name may contain
	// any characters.
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 {
		return stat{}, fmt.Errorf("read %s: %d fields after the name, want 20 or more", path, len(f))
	}
	group, err := strconv.Atoi(f[2])
	if err != nil {
		return stat{}, fmt.Errorf("read %s: process group: %w", path, err)
	}
	return stat{state: f[0], group: group, start: f[19]}, nil
}

// Self returns the identity of the harness, which owns everything that it starts.
var Self = sync.OnceValue(func() identity { return identify(os.Getpid()) })

// Place names the area in which process ids have the same meaning as here: this host, and its
// pid namespace. Whether an owner in another place is alive is unknown here.
var Place = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		host += " " + ns
	}
	return host
})
