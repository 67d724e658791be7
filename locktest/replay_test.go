package locktest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRareFailuresAreReplayedMoreOften: the attempts follow from the rate in the file.
func TestRareFailuresAreReplayedMoreOften(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text        string
		least, most int
	}{
		{"# It failed in 20 of 20 runs.\nlock: x\n", attempts, attempts},
		{"# It failed in 10 of 20 runs.\nlock: x\n", attempts, 20},
		{"# It failed in 10 of 100 runs.\nlock: x\n", 40, 100},
		{"# It failed in 1 of 100 runs.\nlock: x\n", mostAttempts, mostAttempts},
		{"lock: x\n", mostAttempts, mostAttempts},
		{"# It failed in 9 of 3 runs.\n", mostAttempts, mostAttempts},
	} {
		file := filepath.Join(dir, "scenario.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := (&runner{t: t}).attemptsOf(file); n < c.least || n > c.most {
			t.Errorf("%q: %d attempts, want %d to %d", c.text, n, c.least, c.most)
		}
		if n := (&runner{t: t, real: true}).attemptsOf(file); n != attempts {
			t.Errorf("%q: %d attempts on real masters", c.text, n)
		}
	}
}
