package reports

import (
	"fmt"
	"io"
	"strings"

	"lockpick/audit"
)

// AuditJUnit writes an audit as JUnit XML: one test suite per group of situations, one test case
// per level of each situation. A broken cell is a failure, an inconclusive one an error. Inherent
// and not applicable cells are skipped. With baseline, only the cells that changes lists as newly
// broken are failures; those that were broken before are skipped.
func AuditJUnit(w io.Writer, r *audit.Result, baseline bool, changes []audit.Change) error {
	all := &junitSuites{Name: fmt.Sprintf("lockpick audit of %s on %s", printable(auditName(r)), r.Driver), Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
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
			switch c.Outcome {
			case audit.Broken:
				if newly := newlyBroken(changes, row.ID, c.Level); baseline && !newly {
					says.Message = "broken in the baseline too: " + says.Message
					x.Skipped = &junitMessage{Message: says.Message}
				} else {
					x.Failure = says
				}
			case audit.Inconclusive:
				x.Error = says
			case audit.Inherent:
				x.Skipped = &junitMessage{Message: says.Message}
			case audit.NotApplicable:
				if row.Skipped != "" {
					says.Message = printable(row.Skipped)
				}
				x.Skipped = &junitMessage{Message: says.Message}
			}
			all.add(suite, x)
		}
	}
	return all.write(w)
}

// newlyBroken reports whether changes lists a cell as worse than in the baseline.
func newlyBroken(changes []audit.Change, situation, level string) bool {
	for _, c := range changes {
		if c.Worse && c.Situation == situation && c.Level == level {
			return true
		}
	}
	return false
}
