package reports

import (
	"fmt"
	"io"
	"strings"

	"lockpick/checker"
	"lockpick/reports/junit"
	"lockpick/reports/term"
)

// exportJUnit writes a run's verdicts, one test case per property. What counts for the overall verdict is a
// failure if it is violated, and an error if it is undecided or not tested. Anything else that does not hold is
// skipped. So there are failures or errors if and only if the exit code is not 0.
func exportJUnit(w io.Writer, x *Export) error {
	r := x.Result
	took := fmt.Sprintf("%.3f", r.Duration.Seconds())
	all := &junit.Suites{Name: "lockpick run " + r.Name, Time: took}
	suite := &junit.Suite{Name: r.Lock + " on " + r.Driver}
	all.Suites = []*junit.Suite{suite}
	for _, p := range r.Parts(r.Properties) {
		c := junit.Case{Name: p.Level + " " + checker.TitleOf(p.Name), Class: "lockpick." + r.Lock, Time: took}
		if p.Result != nil && len(p.Result.Violations) > 0 {
			c.Out = term.PrintableLines(strings.Join(p.Result.Violations[0].Steps(), "\n") + "\nRun again: " + r.Command + "\n")
		}
		switch {
		case p.Verdict == checker.Holds:
		case p.Counts && p.Verdict == checker.Violated:
			c.Failure = &junit.Message{Message: term.Printable(p.Why)}
		case p.Counts:
			c.Error = &junit.Message{Message: term.Printable(string(p.Verdict) + ": " + p.Why)}
		default:
			c.Skipped = &junit.Message{Message: term.Printable(string(p.Verdict) + ": " + p.Why)}
		}
		all.Add(suite, c)
	}
	if why := r.CutShort; why != "" && r.Overall == checker.Unknown && all.Failures+all.Errors == 0 {
		all.Add(suite, junit.Case{Name: "the whole run", Class: "lockpick." + r.Lock, Time: took, Error: &junit.Message{Message: term.Printable(why)}})
	}
	return all.Write(w)
}
