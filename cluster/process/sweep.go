package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Sweep removes the remains of the process driver of this user's dead harnesses: servers, and the data
// of their masters. It returns a list of what it removed.
func Sweep(context.Context) (removed []string, err error) { return RemoveDead(driverName) }

// Leftovers lists the data of a driver that a sweep would remove, and changes nothing.
func Leftovers(driver string) ([]string, error) {
	roots, release, err := dead(driver, false)
	release()
	return roots, err
}

// RemoveDead removes the data of a driver's dead harnesses. Before that it ends the servers whose
// identities are in that data. The docker driver writes none: it removes its containers first.
func RemoveDead(driver string) (removed []string, err error) {
	roots, release, err := dead(driver, true)
	defer release()
	errs := []error{err}
	for _, root := range roots {
		notes, _ := filepath.Glob(filepath.Join(root, "*"+pidSuffix))
		for _, note := range notes {
			id, err := endNoted(note)
			if err != nil {
				errs = append(errs, err)
			} else if id != "" {
				removed = append(removed, "process "+id)
			}
		}
		if err := RemoveRoot(root); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, root)
	}
	return removed, errors.Join(errs...)
}

// endNoted kills the server whose identity is in a file, if the server still has that identity and runs
// as this user.
func endNoted(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", nil // another sweep was faster
	}
	id, err := ParseIdentity(string(b))
	if err != nil || id.start == "0" || !id.Alive() || !ownedByUser(id.Pid) {
		return "", nil
	}
	if err := syscall.Kill(-id.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return "", fmt.Errorf("kill the server %d that a dead harness left: %w", id.Pid, err)
	}
	for began := time.Now(); id.Alive() && time.Since(began) < 2*time.Second; {
		time.Sleep(time.Millisecond)
	}
	return id.String(), nil
}

// ownedByUser reports whether a process runs as this user. Without /proc that is unknown, and the answer is
// true: the file with the identity is in a folder that only this user can write.
func ownedByUser(pid int) bool {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return !hasProc()
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
