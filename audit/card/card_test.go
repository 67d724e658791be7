package card

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/audit"
	"lockpick/checker"
	"lockpick/reports/junit"
	"lockpick/reports/term"
	"lockpick/search"
)

// sampleCard is the card of a lock, with a cell of every outcome.
func sampleCard() *audit.Result {
	cells := func(findings ...audit.PropertyResult) []audit.Cell {
		var all []audit.Cell
		for _, l := range audit.Levels() {
			c := audit.Cell{Level: l, Outcome: audit.NotApplicable}
			for _, f := range findings {
				if level, property, ok := strings.Cut(f.Property, " "); ok && level == l {
					f.Property = property
					c.Findings, c.Outcome = append(c.Findings, f), f.Outcome
				}
			}
			all = append(all, c)
		}
		return all
	}
	safe := func(property string) audit.PropertyResult {
		return audit.PropertyResult{
			Property: property, Outcome: audit.Safe, Schedules: 40, Proven: 38, Why: "not violated in 38 schedules: 412 contended acquisitions",
			Evidence: []checker.Evidence{{What: "contended acquisitions", Got: 412, Need: 10}},
		}
	}
	broken := audit.PropertyResult{
		Property: "L2 mutual-exclusion", Outcome: audit.Broken, Schedules: 10, Proven: 10, Violated: 4, Case: "two <halves>", Number: 2, Seed: 1_000_001, At: 1500 * time.Millisecond,
		Why:    "c2 was granted k0 at 1.500s while c1 could still rely on it",
		Reason: []string{"At 1.000s c1 was granted k0, valid until 2.485s, by the votes of m1 and m2.", "At 1.500s c2 was granted k0 by the votes of m3 and m4. No master voted for both."},
		Faults: []string{"partition"}, Run: "run-two-halves", Command: "lockpick run store/audit-mine/run-two-halves/scenario.yaml --property mutual-exclusion",
	}
	again := broken
	again.Case = ""
	inherent := broken
	inherent.Outcome, inherent.Case, inherent.Run, inherent.Command, inherent.Faults = audit.Inherent, "", "", "lockpick run store/audit-mine/restart-forgets-mutual-exclusion.yaml", []string{"kill"}
	lost := inherent
	lost.Without = "complete replicas"
	open := audit.PropertyResult{
		Property: "EXT extension", Outcome: audit.Inconclusive, Schedules: 10, Why: "none of 10 schedules exercised it", Help: "try --budget full",
	}
	return &audit.Result{
		JobResult: search.JobResult{Folder: "store/audit-mine", Driver: "sim", Budget: "quick", Seed: 1, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 12500 * time.Millisecond, Versions: map[string]string{"lockpick": "v1"}}, Lock: "mine", Library: "mine | 1.0 <beta>",
		Schedules: 100, Leases: 12345,
		Rows: []audit.Row{
			{ID: "quiet", Group: "Nothing fails", Name: "a few clients", Says: "A few clients take turns.", Schedules: 40, Leases: 1000, Cells: cells(safe("L1 quorum"), safe("L2 mutual-exclusion"), open)},
			{ID: "restart-forgets", Group: "Masters", Name: "restarts that forget", Says: "Masters are killed.", Breaks: "A master does not forget.", Without: "persistence", Inherent: "A master that has lost a key grants it again.", Help: "Use appendfsync=always.", Schedules: 3, Cells: cells(inherent)},
			{ID: "leader-lost", Group: "Servers", Name: "the leader is lost", Says: "The leader is cut off.", Schedules: 3, Cells: cells(lost)},
			{ID: "stopped-inside", Group: "Clients", Name: "stopped in the section", Says: "A client stops.", Breaks: "A client is never stopped.", Without: "clients that never stop", Schedules: 15, Cells: cells(again)},
			{ID: "two-halves", Group: "Clients", Name: "a divided network", Says: "One client reaches <some> of the masters.", Schedules: 10, Cells: cells(broken, safe("AV availability"))},
			{ID: "fenced", Group: "Clients", Name: "stopped, with fencing", Says: "A client that stops holds a fencing token.", Skipped: "it gives no fencing tokens", Cells: cells()},
		},
	}
}

// TestAuditReports compares what people and scripts read with testdata/card.txt.
func TestAuditReports(t *testing.T) {
	datadriven.RunTest(t, "testdata/card.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b bytes.Buffer
		var err error
		changes := []audit.Change{
			{Situation: "two-halves", Level: "L2", Property: "mutual-exclusion", Before: audit.Safe, Now: audit.Broken, Worse: true},
			{Situation: "quiet", Level: "EXT", Before: audit.Safe, Now: audit.Inconclusive},
		}
		switch d.Cmd {
		case "card":
			err = Terminal(&b, sampleCard(), term.Options{Width: 100})
		case "narrow":
			err = Terminal(&b, sampleCard(), term.Options{Width: 45})
		case "safe":
			r := sampleCard()
			r.Rows = r.Rows[1:2]
			r.Rows[0].Cells[0] = audit.Cell{Level: "L1", Outcome: audit.Safe}
			err = Terminal(&b, r, term.Options{Width: 100})
		case "interrupted":
			r := sampleCard()
			r.Interrupted, r.Rows = true, r.Rows[:2]
			r.Rows[1].Schedules = 0
			r.Rows[1].Cells[1] = audit.Cell{Level: "L2", Outcome: audit.Inconclusive, Findings: []audit.PropertyResult{{Property: "mutual-exclusion", Outcome: audit.Inconclusive, Why: "interrupted before it was tried", Help: "run the audit to its end"}}}
			err = Terminal(&b, r, term.Options{Width: 100})
		case "markdown":
			err = Markdown(&b, sampleCard())
		case "junit":
			err = JUnit(&b, &audit.Judged{Result: sampleCard()})
		case "junit-baseline":
			err = JUnit(&b, &audit.Judged{Result: sampleCard(), Before: sampleCard(), Changes: changes})
		case "changes":
			err = WriteChanges(&b, changes, "audit.json", term.Options{Width: 80})
		}
		if err != nil {
			return "error: " + err.Error()
		}
		return b.String()
	})
}

// TestAuditJUnitIsXML: whatever stands in names and reasons.
func TestAuditJUnitIsXML(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, &audit.Judged{Result: sampleCard()}); err != nil {
		t.Fatal(err)
	}
	var all junit.Suites
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil || all.Failures == 0 || all.Errors == 0 {
		t.Fatalf("%d failures and %d errors (%v)", all.Failures, all.Errors, err)
	}
}

// TestAuditPageEscapes: names and reasons come from users and servers.
func TestAuditPageEscapes(t *testing.T) {
	var b bytes.Buffer
	if err := WritePage(&b, ".", sampleCard()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, raw := range []string{"<beta>", "<halves>", "<some>"} {
		if strings.Contains(page, raw) {
			t.Errorf("%s stands in the page as it is", raw)
		}
	}
	for _, want := range []string{"&lt;beta&gt;", `id="two-halves"`, `href="store/audit-mine/run-two-halves/report.html"`, "default-src &#39;none&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestLongReasonsAreShortened: the first and the last steps are told, and how many are left out.
func TestLongReasonsAreShortened(t *testing.T) {
	var reason []string
	for i := range 40 {
		reason = append(reason, fmt.Sprintf("step %d", i+1))
	}
	got := shortened(reason)
	if len(got) != firstSteps+1+lastSteps || got[2] != (numbered{"3. ", "step 3"}) || got[4] != (numbered{"33. ", "step 33"}) || !strings.Contains(got[3].text, "29 more steps") {
		t.Errorf("%+v", got)
	}
	if got := shortened(reason[:firstSteps+lastSteps+1]); len(got) != firstSteps+lastSteps+1 {
		t.Errorf("%d steps of %d", len(got), firstSteps+lastSteps+1)
	}
}
