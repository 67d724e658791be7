package card

import (
	"fmt"
	"io"
	"strings"

	"lockpick/audit"
	"lockpick/checker"
	"lockpick/reports/junit"
	"lockpick/reports/term"
)

// JUnit writes an audit as JUnit XML: one test suite per group of situations, one test case
// per level of each situation. What counts for the verdict is a failure if it is broken, and an error if it is
// inconclusive. All else that is not safe is skipped.
func JUnit(w io.Writer, r *audit.Judged) error {
	all := &junit.Suites{Name: fmt.Sprintf("lockpick audit of %s on %s", term.Printable(fullName(r.Result)), r.Driver), Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	var suite *junit.Suite
	for i := range r.Rows {
		row := &r.Rows[i]
		if suite == nil || suite.Name != row.Group {
			suite = &junit.Suite{Name: row.Group}
			all.Suites = append(all.Suites, suite)
		}
		for j := range row.Cells {
			c := &row.Cells[j]
			x := junit.Case{Name: row.Name + " – " + c.Level, Class: "lockpick.audit." + term.Printable(r.Lock), Time: "0"}
			says := &junit.Message{Message: term.Printable(describe(c))}
			if f := c.Worst(); f != nil {
				says.Text = term.PrintableLines(strings.Join(f.Reason, "\n"))
				if f.Command != "" {
					x.Out = term.Printable("Replay: " + f.Command)
				}
			}
			switch counts := r.Counts(row.ID, c); {
			case c.Outcome == audit.Broken && counts:
				x.Failure = says
			case c.Outcome == audit.Broken:
				x.Skipped = &junit.Message{Message: "broken in the baseline too: " + says.Message}
			case c.Outcome == audit.Inconclusive && counts:
				x.Error = says
			case c.Outcome == audit.NotApplicable && row.Skipped != "":
				x.Skipped = &junit.Message{Message: term.Printable(row.Skipped)}
			case c.Outcome != audit.Safe:
				x.Skipped = &junit.Message{Message: says.Message}
			}
			all.Add(suite, x)
		}
	}
	if all.Failures+all.Errors == 0 && r.Verdict() != checker.Holds {
		all.Add(suite, junit.Case{Name: "the whole audit", Class: "lockpick.audit." + term.Printable(r.Lock), Time: "0", Error: &junit.Message{Message: "the audit was interrupted, or nothing in it is safe"}})
	}
	return all.Write(w)
}
