package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExhaust is an exhaustive search as a script sees it: a counterexample that is kept,
// bounds within which the lock holds, and a search that is cut short.
func TestExhaust(t *testing.T) {
	dir := t.TempDir()
	var found struct {
		Driver         string
		Bounds         map[string]any
		Verdicts       []struct{ Level, Verdict, Why string }
		States         int
		Counterexample *struct {
			Faults          int
			Report, History string
		}
	}
	search := func(want int, args ...string) {
		t.Helper()
		stdout, stderr, code := lockpick(t, dir, append([]string{"search", "--exhaustive", "--json"}, args...)...)
		if code != want {
			t.Fatalf("%v: exit %d, want %d\n%s", args, code, want, stderr)
		}
		found.Counterexample = nil
		if err := json.Unmarshal([]byte(stdout), &found); err != nil {
			t.Fatalf("%v\n%s", err, stdout)
		}
	}
	search(exitViolated)
	if c := found.Counterexample; c == nil || c.Faults != 1 || found.Verdicts[0].Level != "L2" || found.Bounds["ttl"] != 16.0 {
		t.Fatalf("%+v", found)
	}
	if _, err := os.Stat(filepath.Join(dir, found.Counterexample.Report)); err != nil {
		t.Error(err)
	}
	stdout, _, code := lockpick(t, dir, "show", "latest", "--story")
	if code != 0 || !strings.Contains(stdout, "granted<") || !strings.Contains(stdout, "could both rely on k0") {
		t.Errorf("exit %d, the story:\n%s", code, stdout)
	}
	if stdout, _, _ := lockpick(t, dir, "check", "latest"); strings.Contains(stdout, "scenario.yaml") {
		t.Errorf("the run of a search has no scenario that could be run again:\n%s", stdout)
	}
	search(exitHolds, "--faults", "none")
	search(exitUndecided, "--persistence", "always", "--max-states", "200")
	if found.Counterexample != nil || found.Verdicts[0].Verdict != "unknown" {
		t.Errorf("%+v", found)
	}
}
