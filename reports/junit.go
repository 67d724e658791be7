package reports

import (
	"fmt"
	"io"
	"strings"

	"lockpick/checker"
)

// exportJUnit writes a run's verdicts, one test case per property. What counts for the overall verdict is a
// failure if it is violated, and an error if it is undecided or not tested. Anything else that does not hold is
// skipped. So there are failures or errors if and only if the exit code is not 0.
func exportJUnit(w io.Writer, x *Export) error {
	r := x.Result
	took := fmt.Sprintf("%.3f", r.Duration.Seconds())
	all := &junitSuites{Name: "lockpick run " + r.Name, Time: took}
	suite := &junitSuite{Name: r.Lock + " on " + r.Driver}
	all.Suites = []*junitSuite{suite}
	for _, p := range r.Parts(r.Properties) {
		c := junitCase{Name: p.Level + " " + checker.TitleOf(p.Name), Class: "lockpick." + r.Lock, Time: took}
		if p.Result != nil && len(p.Result.Violations) > 0 {
			c.Out = PrintableLines(strings.Join(p.Result.Violations[0].Steps(), "\n") + "\nRun again: " + r.Command + "\n")
		}
		switch {
		case p.Verdict == checker.Holds:
		case p.Counts && p.Verdict == checker.Violated:
			c.Failure = &junitMessage{Message: printable(p.Why)}
		case p.Counts:
			c.Error = &junitMessage{Message: printable(string(p.Verdict) + ": " + p.Why)}
		default:
			c.Skipped = &junitMessage{Message: printable(string(p.Verdict) + ": " + p.Why)}
		}
		all.add(suite, c)
	}
	if why := r.CutShort; why != "" && r.Overall == checker.Unknown && all.Failures+all.Errors == 0 {
		all.add(suite, junitCase{Name: "the whole run", Class: "lockpick." + r.Lock, Time: took, Error: &junitMessage{Message: printable(why)}})
	}
	return all.write(w)
}
