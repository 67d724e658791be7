//go:build real

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScoreboard audits Lockpick's own lock on redis-server processes for the scoreboard, and
// takes the finished audit the second time.
func TestScoreboard(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here: " + err.Error())
	}
	dir := t.TempDir()
	var got struct {
		Driver  string
		Entries []struct {
			Name string
			Card struct {
				Folder     string
				Situations []struct{ ID string }
			}
		}
		Page string
	}
	args := []string{"audit", "redlock", "--replays", "3", "--only", "overrun", "--resume", "--json", "--markdown", "board.md"}
	folder := ""
	for range 2 {
		stdout, stderr, code := lockpick(t, dir, args...)
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitHolds {
			t.Fatalf("exit %d, %v\n%s", code, err, stderr)
		}
		if got.Driver != "process" || len(got.Entries) != 1 || got.Entries[0].Name != "redlock" || len(got.Entries[0].Card.Situations) != 1 {
			t.Fatalf("%+v", got)
		}
		if folder == "" {
			folder = got.Entries[0].Card.Folder
		}
		if got.Entries[0].Card.Folder != folder {
			t.Errorf("with --reuse the audit was made again: %s, then %s", folder, got.Entries[0].Card.Folder)
		}
	}
	for _, path := range []string{got.Page, "board.md", filepath.Join(folder, "index.html")} {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || !strings.Contains(string(b), "redlock") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
