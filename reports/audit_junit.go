package reports

import (
	"fmt"
	"io"
	"strings"

	"lockpick/audit"
	"lockpick/checker"
)

// AuditJUnit writes an audit as JUnit XML: one test suite per group of situations, one test case
// per level of each situation. What counts for the verdict is a failure if it is broken, and an error if it is
// inconclusive. All else that is not safe is skipped.
func AuditJUnit(w io.Writer, r *audit.Judged) error {
	all := &junitSuites{Name: fmt.Sprintf("lockpick audit of %s on %s", printable(auditName(r.Result)), r.Driver), Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	var suite *junitSuite
	for i := range r.Rows {
		row := &r.Rows[i]
		if suite == nil || suite.Name != row.Group {
			suite = &junitSuite{Name: row.Group}
			all.Suites = append(all.Suites, suite)
		}
		for j := range row.Cells {
			c := &row.Cells[j]
			x := junitCase{Name: row.Name + " – " + c.Level, Class: "lockpick.audit." + printable(r.Lock), Time: "0"}
			says := &junitMessage{Message: printable(cellSays(c))}
			if f := c.Worst(); f != nil {
				says.Text = PrintableLines(strings.Join(f.Reason, "\n"))
				if f.Command != "" {
					x.Out = printable("Replay: " + f.Command)
				}
			}
			switch counts := r.Counts(row.ID, c); {
			case c.Outcome == audit.Broken && counts:
				x.Failure = says
			case c.Outcome == audit.Broken:
				x.Skipped = &junitMessage{Message: "broken in the baseline too: " + says.Message}
			case c.Outcome == audit.Inconclusive && counts:
				x.Error = says
			case c.Outcome == audit.NotApplicable && row.Skipped != "":
				x.Skipped = &junitMessage{Message: printable(row.Skipped)}
			case c.Outcome != audit.Safe:
				x.Skipped = &junitMessage{Message: says.Message}
			}
			all.add(suite, x)
		}
	}
	if all.Failures+all.Errors == 0 && r.Verdict() != checker.Holds {
		all.add(suite, junitCase{Name: "the whole audit", Class: "lockpick.audit." + printable(r.Lock), Time: "0", Error: &junitMessage{Message: "the audit was interrupted, or nothing in it is safe"}})
	}
	return all.write(w)
}
