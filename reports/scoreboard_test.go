package reports

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/audit"
)

// scoreboard has a lock that is broken and one that was not tried.
func scoreboard() *audit.Scoreboard {
	r := card()
	for i := range r.Rows {
		for j := range r.Rows[i].Cells {
			for k := range r.Rows[i].Cells[j].Findings {
				if f := &r.Rows[i].Cells[j].Findings[k]; f.Outcome == audit.Broken && r.Rows[i].ID == "two-halves" {
					f.Replayed = &audit.Replays{Times: 3, Of: 3, Attempts: 4}
				}
			}
		}
	}
	r.Client = []string{"mine"}
	return &audit.Scoreboard{
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Driver: "process", Budget: "quick", Seed: 1, Times: 3, Versions: map[string]string{"redis": "7.0.15", "lockpick": "v1"},
		Entries: []audit.Entry{
			{Entrant: audit.Entrant{Name: "mine", Language: "C <hash>", Summary: "my lock | on all masters", Promise: "It never <fails>.", Source: "its README", Packages: "libmine 1.0-2"}, Card: r.Confirmed()},
			{Entrant: audit.Entrant{Name: "absent", Language: "Ruby", Summary: "a lock that is not here", Missing: "needs libabsent"}},
		},
		Statements: []audit.Statement{
			{Library: "mine 1.0", Said: "it fails on | and <some>", Confirmed: true, Shows: "it failed", Date: "2026-01-02", Command: "go test ./mine -run A"},
			{Library: "mine 1.0", Said: "it never waits", Shows: "it waited: true", Date: "2026-01-02", Command: "go test ./mine -run B"},
		},
	}
}

// TestScoreboardReports compares what people read with testdata/scoreboard.txt.
func TestScoreboardReports(t *testing.T) {
	datadriven.RunTest(t, "testdata/scoreboard.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b bytes.Buffer
		var err error
		switch d.Cmd {
		case "terminal":
			err = Scoreboard(&b, scoreboard(), TerminalOptions{Width: 80})
		case "markdown":
			err = ScoreboardMarkdown(&b, scoreboard())
		}
		if err != nil {
			return "error: " + err.Error()
		}
		return b.String()
	})
}

// TestScoreboardPage: the page shows what the cards have, and names and reasons never execute.
func TestScoreboardPage(t *testing.T) {
	var page bytes.Buffer
	if err := ScoreboardPage(&page, "store", scoreboard()); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"<beta>", "<halves>", "<some>", "<hash>", "<fails>"} {
		if strings.Contains(page.String(), raw) {
			t.Errorf("%s stands in the page as it is", raw)
		}
	}
	b := openPage(t, browser(t), func(w io.Writer) error { return ScoreboardPage(w, "store", scoreboard()) }, 1300, 900, false)
	for _, x := range []struct{ js, want string }{
		{`[...document.querySelectorAll('tbody tr')].filter(r => r.querySelector('a')).map(r => [...r.children].map(c => c.textContent.trim()).join(';')).join('\n')`,
			"mine;C <hash>;mine | 1.0 <beta> (libmine 1.0-2);✓;✗ 1;?;✓\nabsent;Ruby;;not tried: needs libabsent"},
		{`[...document.querySelectorAll('.situations tbody tr:not(.heading)')].map(r => [...r.children].map(c => c.textContent.trim()).join(';')).join('\n')`,
			"a few clients;?;–\nrestarts that forget;(✗);–\nstopped in the section;?;–\na divided network;✗ L2;–\nstopped, with fencing;–;–"},
		{`document.querySelector('#mine .command').textContent`, "lockpick audit --client mine --only two-halves"},
		{`document.querySelector('#mine a').getAttribute('href')`, "audit-mine/index.html"},
		{`String(document.documentElement.scrollWidth <= innerWidth)`, "true"},
	} {
		if got := ask[string](b, x.js); got != x.want {
			t.Errorf("%s\nis %q, want %q", x.js, got, x.want)
		}
	}
	b.picture("scoreboard")
	b.quiet()
}
