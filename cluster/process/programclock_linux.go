package process

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func readClock(id int32) (int64, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return t.Nano(), err
}

// loadedWithin limits the time in which a process of a group must load the shim: it may just
// have been started.
const loadedWithin = 300 * time.Millisecond

// Skew returns nil if every process of a group uses these clocks, and otherwise the reason why
// one does not.
func (c *ProgramClocks) Skew(group int) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := c.skew(group)
		if err == nil || time.Since(began) > loadedWithin {
			return err
		}
	}
}

func (c *ProgramClocks) skew(group int) error {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	found := false
	for _, f := range all {
		st, err := readStatFile(f)
		if err != nil || st.group != group || st.state == "Z" || st.state == "X" {
			continue // the process belongs to another group, or has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			return err
		}
		if err := c.loaded(pid); errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		} else if err != nil {
			return err
		}
		found = true
	}
	if !found {
		return errors.New("it has ended")
	}
	return nil
}

// loaded returns nil if a process uses these clocks.
func (c *ProgramClocks) loaded(pid int) error {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	path, err := os.Readlink(exe)
	if err != nil {
		return err
	}
	if _, err := buildinfo.ReadFile(exe); err == nil {
		return fmt.Errorf("%s is a Go program, which reads the clock without the C library", path)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return fmt.Errorf("find out whether %s has loaded the clock shim: %w", path, err)
	}
	if !strings.Contains(string(maps), c.page) {
		return fmt.Errorf("%s did not load the clock shim: it is linked statically, runs with another user's rights, or cleared its environment", path)
	}
	return nil
}
