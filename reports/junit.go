package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockpick/checker"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
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
		{c.Error != nil, &suite.Errors, &s.Errors}, {c.Skipped != nil, &suite.Skipped, &s.Skipped},
	} {
		if n.is {
			*n.in++
			*n.total++
		}
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

// exportJUnit writes a run's verdicts, one test case per property. A violated property is a
// failure. A requested property (without --property: mutual exclusion) that is undecided or not
// tested is an error. Other properties that are undecided or not tested are skipped.
func exportJUnit(w io.Writer, x *Export) error {
	r := x.Result
	took := fmt.Sprintf("%.3f", r.Duration.Seconds())
	all := &junitSuites{Name: "lockpick run " + r.Name, Time: took}
	suite := &junitSuite{Name: r.Lock + " on " + r.Driver}
	all.Suites = []*junitSuite{suite}
	asked := r.Properties
	if len(asked) == 0 {
		asked = []string{checker.MutualExclusion.Level}
	}
	for _, p := range checker.Properties {
		c := junitCase{Name: p.Level + " " + words(p.Name), Class: "lockpick." + r.Lock, Time: took}
		verdict, why := checker.Verdict("not tested"), r.Untested[p.Name]
		for i := range r.Verdicts {
			v := &r.Verdicts[i]
			if v.Name != p.Name {
				continue
			}
			verdict, why = v.Verdict, v.Why
			if len(v.Violations) > 0 {
				c.Out = strings.Join(v.Violations[0].Steps(), "\n") + "\nRun again: " + r.Command + "\n"
			}
		}
		wanted := slices.Contains(asked, p.Level) || slices.Contains(asked, p.Name)
		switch {
		case verdict == checker.Violated:
			c.Failure = &junitMessage{Message: printable(why)}
		case verdict == checker.Holds:
		case wanted:
			c.Error = &junitMessage{Message: printable(string(verdict) + ": " + why)}
		default:
			c.Skipped = &junitMessage{Message: printable(string(verdict) + ": " + why)}
		}
		c.Out = PrintableLines(c.Out)
		all.add(suite, c)
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
