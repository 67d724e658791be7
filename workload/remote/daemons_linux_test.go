package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// TestADaemonEndsWithItsClient: a process that a client detached, in a session of its own and adopted by another
// parent, ends when the client ends.
func TestADaemonEndsWithItsClient(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed: a client cannot make a daemon")
	}
	note := filepath.Join(t.TempDir(), "pid")
	daemon := `(setsid sh -c 'echo $$ > "$0.part"; mv "$0.part" "$0"; exec sleep 1000' "` + note + `" </dev/null >/dev/null 2>&1 3<&- 4>&- &)` + "\n"
	u, err := foreign(t, daemon+respond(`{"type":"ok"}`))
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	waittest.Until(t, "the client has made a daemon", func() bool {
		b, err := os.ReadFile(note)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if err := u.Client.Close(); err != nil {
		t.Fatal(err)
	}
	awaitState(t, pid, "", "Z") // a zombie is its new parent's business
}
