//go:build real

package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoFileDescriptorsLeft: a run that may need more file descriptors than it may have says so before it
// begins, and one that has none left ends at once, and proves nothing.
func TestNoFileDescriptorsLeft(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed: a run on processes is not tried with few file descriptors")
	}
	script := `ulimit -n 260 && exec "$0" run --driver process --clients 30 --keys 10 --time-limit 5m --faults none`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script, binary)
	cmd.Dir = t.TempDir()
	b, err := cmd.CombinedOutput()
	out := strings.Join(strings.Fields(string(b)), " ")
	if code := cmd.ProcessState.ExitCode(); code != exitUndecided {
		t.Errorf("exit %d (%v), want %d", code, err, exitUndecided)
	}
	for _, want := range []string{"may need up to 6100 file descriptors, and this process may have 260", "no file descriptors were left", "ulimit -n 6100", "UNKNOWN"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, b)
		}
	}
}

// TestTooFewFileDescriptorsToStart: with so few file descriptors that a run cannot start its masters or clients, it
// names the limit and how to raise it, before and after it fails.
func TestTooFewFileDescriptorsToStart(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed: a run on processes is not tried with few file descriptors")
	}
	for limit, wants := range map[string][]string{
		"16":  {"may need up to 4100 file descriptors, and this process may have 16", "too many open files", "may have 16 file descriptors; raise that (ulimit -n 4100)"}, // already when redis-server is asked for its version, or later
		"24":  {"may need up to 4100 file descriptors, and this process may have 24"},
		"110": {"may need up to 4100 file descriptors, and this process may have 110", "too many open files", "may have 110 file descriptors; raise that (ulimit -n 4100)"},
	} {
		script := `ulimit -n "$1" && exec "$0" run --driver process --clients 20 --time-limit 2s --faults none`
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script, binary, limit)
		cmd.Dir = t.TempDir()
		b, err := cmd.CombinedOutput()
		out := strings.Join(strings.Fields(string(b)), " ")
		if code := cmd.ProcessState.ExitCode(); code != exitHarness {
			t.Errorf("%s descriptors: exit %d (%v), want %d", limit, code, err, exitHarness)
		}
		if advised := strings.Count(out, "raise that"); limit == "110" && advised < 2 {
			t.Errorf("%s descriptors: the advice is not in the error:\n%s", limit, b)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s descriptors: it does not say %q:\n%s", limit, want, b)
			}
		}
	}
}
