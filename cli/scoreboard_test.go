package cli

import (
	"os"
	"strings"
	"testing"

	"lockpick/clients"
)

// TestDocumentedFindings: docs/findings.md is what lockpick list findings says now, and what an audit shows has its story on the
// scoreboard.
func TestDocumentedFindings(t *testing.T) {
	made, stderr, code := lockpick(t, t.TempDir(), "list", "findings", "--as", "markdown")
	if code != exitHolds {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	if page, err := os.ReadFile("../docs/findings.md"); err != nil || string(page) != made {
		t.Errorf("%v: docs/findings.md is an older one: write it anew with go generate ./cmd/lockpick", err)
	}
	board, err := os.ReadFile("../docs/scoreboard.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range clients.Findings {
		if f.Audit != "" && !strings.Contains(string(board), "\n"+f.Audit+"\n") {
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
