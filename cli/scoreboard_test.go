package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/clients"
	"lockpick/reports"
)

// TestDocumentedScoreboardHasTheStatements: docs/scoreboard.md says of the libraries what the findings say now, and a
// statement that an audit shows has its story there.
func TestDocumentedScoreboardHasTheStatements(t *testing.T) {
	page, err := os.ReadFile("../docs/scoreboard.md")
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := reports.ScoreboardMarkdown(&made, &audit.Scoreboard{Statements: statements()}); err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(made.String(), "## What was said")
	if !ok {
		t.Fatalf("the scoreboard has no statements:\n%s", made.String())
	}
	if section = "## What was said" + section; !strings.Contains(string(page), section) {
		t.Errorf("docs/scoreboard.md lacks this section, or has an older one:\n%s", section)
	}
	for _, f := range clients.Findings {
		if f.Audit != "" && !strings.Contains(string(page), "\n"+f.Audit+"\n") {
			t.Errorf("docs/scoreboard.md has no story of %s: %s", f.Name, f.Audit)
		}
	}
}

// TestScoreboard audits Lockpick's own lock on redis-server processes for the scoreboard, and
// takes the finished audit the second time.
func TestScoreboard(t *testing.T) {
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
	args := []string{"scoreboard", "--client", "redlock", "--only", "overrun", "--reuse", "--json", "--markdown", "board.md"}
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

// TestScoreboardBadInput: what is wrong is said, with what to write instead.
func TestScoreboardBadInput(t *testing.T) {
	for want, args := range map[string][]string{
		`"nobody" is unknown: use one of redlock, redis-py`: {"--client", "nobody"},
		"--replays and --attempts are at least 1":           {"--replays", "0"},
		`--only: "loud" is unknown`:                         {"--only", "loud", "--client", "redlock"},
		`--budget: "huge" is unknown`:                       {"--budget", "huge", "--client", "redlock"},
	} {
		if _, stderr, code := lockpick(t, t.TempDir(), append([]string{"scoreboard"}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d\n%s", args, code, stderr)
		}
	}
}
