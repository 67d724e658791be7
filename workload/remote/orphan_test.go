package remote

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// state is a process's state letter: R, S, T (stopped), Z, … or empty if it is not there. It is
// stopped once all its threads are: before that the system does not count it among the stopped
// that it wakes when their group is orphaned.
func state(pid int) string {
	letter := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		_, after, _ := strings.Cut(string(b), ") ")
		return after[:1]
	}
	if first := letter(fmt.Sprintf("/proc/%d/stat", pid)); first != "T" {
		return first
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		if s := letter(thread); s != "T" && s != "" {
			return s
		}
	}
	return "T"
}

// awaitState waits until a process is in one of the states.
func awaitState(t *testing.T, pid int, states ...string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc: ", err)
	}
	waittest.Until(t, fmt.Sprintf("the process's state is one of %q", states), func() bool { return slices.Contains(states, state(pid)) })
}

// TestOrphan: a client process ends with its harness, whatever ends that, also while it
// is stopped.
func TestOrphan(t *testing.T) {
	for _, what := range []string{"working", "stopped"} {
		t.Run(what, func(t *testing.T) {
			harness := exec.Command(os.Args[0])
			harness.Env = append(os.Environ(), harnessEnv+"="+what)
			stdin, err := harness.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := harness.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := harness.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			pid, wrong := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || wrong != nil {
				_ = harness.Process.Kill()
				_ = harness.Wait()
				t.Fatalf("the harness said %q", line)
			}
			if what == "stopped" {
				awaitState(t, pid, "T")
			}
			_ = harness.Process.Kill()
			_ = harness.Wait()
			t.Cleanup(func() {
				if t.Failed() {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			awaitState(t, pid, "", "Z") // a zombie is its new parent's business
		})
	}
}
