package cli

import (
	"bytes"
	"os"
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

// TestScoreboardBadInput: what is wrong is said, with what to write instead.
func TestScoreboardBadInput(t *testing.T) {
	for want, args := range map[string][]string{
		`"nobody" is unknown: use one of redlock, redis-py`: {"nobody", "redlock"},
		"--replays and --attempts are at least 1":           {"all", "--replays", "0"},
		`--only: "loud" is unknown`:                         {"--only", "loud", "redlock", "redis-py"},
		"--baseline is about one lock":                      {"all", "--baseline", "b.json"},
		"about a scoreboard: name the locks":                {"--replays", "2"},
		"name the lock once":                                {"redlock", "--lock", "single"},
		`"redis-p" is unknown (did you mean "redis-py"?)`:   {"redis-p"},
		`--budget: "huge" is unknown`:                       {"--budget", "huge", "redlock", "redis-py"},
	} {
		if _, stderr, code := lockpick(t, t.TempDir(), append([]string{"audit"}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d\n%s", args, code, stderr)
		}
	}
}
