package card

import (
	"bytes"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/audit"
	"lockpick/reports/term"
)

// sampleScoreboard has a lock that is broken and one that was not tried.
func sampleScoreboard() *audit.Scoreboard {
	r := sampleCard()
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
		Command: "lockpick audit mine absent",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Driver: "process", Budget: "quick", Seed: 1, Times: 3, Versions: map[string]string{"redis": "7.0.15", "ZooKeeper": "3.8.0", "lockpick": "v1"},
		Entries: []audit.Entry{
			{Entrant: audit.Entrant{Name: "mine", Language: "C <hash>", Summary: "my lock | on all masters", Promise: "It never <fails>.", Source: "its README", Packages: "libmine 1.0-2"}, Card: r.Confirmed()},
			{Entrant: audit.Entrant{Name: "absent", Language: "Ruby", Summary: "a lock that is not here", Missing: "needs libabsent"}},
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
			err = ScoreboardTerminal(&b, sampleScoreboard(), term.Options{Width: 80})
		case "markdown":
			err = ScoreboardMarkdown(&b, sampleScoreboard())
		}
		if err != nil {
			return "error: " + err.Error()
		}
		return b.String()
	})
}
