//go:build real

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLongHistoriesAreCompressed: what a long run has recorded takes a fraction of its size once the run
// is over, and every command finds it, by the plain name, too.
func TestLongHistoriesAreCompressed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stderr, code := lockpick(t, dir, "run", "--name", "long", "--driver", "sim", "--time-limit", "12m", "--clients", "6")
	if code != exitViolated {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	run := filepath.Join("store", "latest")
	files, err := filepath.Glob(filepath.Join(dir, run, "history.jsonl*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".zst") {
		t.Fatalf("the histories are %v, %v", files, err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"check latest", exitViolated, "VIOLATED"},
		{"check store/latest/history.jsonl", exitViolated, "VIOLATED"},
		{"check store/latest/history.jsonl.zst", exitViolated, "VIOLATED"},
		{"list runs", exitHolds, "violated"},
		{"report latest --story", exitHolds, "was granted k0"},
		{"report latest --lines 10", exitHolds, `"f":"`},
		{"export latest --as csv", exitHolds, "acquire"},
		{"diff latest latest", exitHolds, "no differences"},
		{"replay latest --driver sim", exitViolated, "byte by byte"},
	} {
		stdout, stderr, code := lockpick(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%.2000s%s", c.args, code, c.code, c.says, stdout, stderr)
		}
	}
	short := t.TempDir()
	lockpick(t, short, "run", "--driver", "sim", "--seed", "1", "--time-limit", "2s")
	if _, err := os.Stat(filepath.Join(short, run, "history.jsonl")); err != nil {
		t.Errorf("a short history: %v", err)
	}
}
