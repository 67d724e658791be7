//go:build real && linux

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs what follows it as a user who may do nothing: without groups (that of Docker's socket,
// too), with a home that cannot be written, without shared memory, and with few megabytes for
// temporary files.
const asNobody = `set -e
mount -t tmpfs -o ro tmpfs /dev/shm
mount -t tmpfs -o mode=1777,size="$1" tmpfs "$2/tmp"
cd "$2/work"
dir=$2
shift 2
exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" HOME="$dir/home" TMPDIR="$dir/tmp" "$@"
`

// TestAsAnotherUser: a user without rights has campaigns on processes, with faults below Redis, too,
// or one sentence that says what is missing.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // of all folders of this test
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"home": 0o555, "tmp": 0o777, "work": 0o777} {
		if err := os.Mkdir(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "lockpick")
	code, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(program, code, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, size string
		args       []string
		codes      []int // that are right
		says       string
	}{
		{"processes", "32m", []string{"run", "--driver", "process", "--persistence", "always", "--time-limit", "2s", "--faults", "kill,powercut,slow-fsync"}, []int{exitHolds, exitUndecided}, "faults that took effect"},
		{"any driver", "32m", []string{"run", "--time-limit", "2s", "--persistence", "always"}, []int{exitHolds, exitUndecided}, "driver process: redis-server"},
		{"Docker", "32m", []string{"run", "--driver", "docker"}, []int{exitHarness}, "permission denied; join the group of that socket (docker), or run as root"},
		{"simulator", "1m", []string{"search", "--lock", "redlock-plain-del", "--time-limit", "1s"}, []int{exitHolds, exitViolated}, "leases granted"},
		{"no room", "1m", []string{"run", "--driver", "process", "--time-limit", "2s"}, []int{exitHarness}, "no space left on device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", asNobody, "sh", c.size, dir, program}, c.args...)...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if cmd.ProcessState == nil || strings.HasPrefix(out.String(), "mount: ") {
				t.Skipf("no mount namespace: %v %s", err, out.String())
			}
			said := strings.Join(strings.Fields(out.String()), " ") // lines are wrapped
			if code := cmd.ProcessState.ExitCode(); !slices.Contains(c.codes, code) || !strings.Contains(said, c.says) {
				t.Errorf("exit code %d; it should say %q:\n%s", code, c.says, out.String())
			}
			if strings.Contains(said, "this fault is not available") || strings.Contains(out.String(), "goroutine ") {
				t.Error(out.String())
			}
		})
	}
}
