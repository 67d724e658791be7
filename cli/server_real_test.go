//go:build real

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReplayOnAnotherServer: a run with --server is replayed on the same program, once the user trusts it, and a program that is gone
// is named.
func TestReplayOnAnotherServer(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server: ", err)
	}
	dir := t.TempDir()
	server := filepath.Join(dir, "my-server")
	if err := os.Symlink(path, server); err != nil {
		t.Fatal(err)
	}
	runEnds(t, dir, exitViolated, 20*time.Second, "--server", server, "--driver", "process", "--persistence", "none", "--faults", "kill", "--property", "L2", "--seed", "3", "--stop-on-violation")
	replay := []string{"replay", "latest", "--driver", "process"}
	if _, stderr, code := lockpick(t, dir, replay...); code != exitUsage || !strings.Contains(stderr, "the server "+server) || !strings.Contains(stderr, "--trust") {
		t.Errorf("without trust it ends with %d: %s", code, stderr)
	}
	replay = append(replay, "--trust")
	if out, stderr, code := lockpick(t, dir, replay...); code != exitViolated || !strings.Contains(out, "Reproduced in 1 of") {
		t.Errorf("the replay ends with %d: %s%s", code, out, stderr)
	}
	if err := os.Remove(server); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := lockpick(t, dir, replay...); code != exitUsage || !strings.Contains(stderr, "find the server "+server) {
		t.Errorf("without the program it ends with %d: %s", code, stderr)
	}
}
