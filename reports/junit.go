package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"lockpick/checker"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Time     string        `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// add adds a case to a suite of s and counts it.
func (s *junitSuites) add(suite *junitSuite, c junitCase) {
	suite.Cases = append(suite.Cases, c)
	for _, n := range []struct {
		is        bool
		in, total *int
	}{
		{true, &suite.Tests, &s.Tests}, {c.Failure != nil, &suite.Failures, &s.Failures},
		{c.Error != nil, &suite.Errors, &s.Errors},
	} {
		if n.is {
			*n.in++
			*n.total++
		}
	}
	if c.Skipped != nil { // the schema of testsuites has no sum of these
		suite.Skipped++
	}
}

// write writes the suites as an XML document.
func (s *junitSuites) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("reports: write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

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
		c := junitCase{Name: p.Level + " " + words(p.Name), Class: "lockpick." + r.Lock, Time: took}
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

// PrintableLines makes text that somebody else wrote safe for a terminal, and keeps its line breaks. All control
// characters else become U+FFFD or spaces.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
