// Package junit writes verdicts as JUnit XML, for CI: runs, audits and claims with one writer.
//
// A program adds cases to suites and the suites to Suites; Add counts them, and Write writes the document. Readers of
// JUnit (Jenkins, GitLab, Ant) agree on few elements, and only these are here.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Suites is the document, with the sums of its suites.
type Suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"` // seconds
	Suites   []*Suite `xml:"testsuite"`
}

// Suite is a group of cases.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case is a test case. At most one of Failure, Error and Skipped is set; a case without them has passed.
type Case struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Failure *Message `xml:"failure,omitempty"`
	Error   *Message `xml:"error,omitempty"`
	Skipped *Message `xml:"skipped,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

// Message says why a case did not pass.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a case to a suite of s and counts it.
func (s *Suites) Add(suite *Suite, c Case) {
	suite.Cases = append(suite.Cases, c)
	suite.Tests++
	s.Tests++
	if c.Failure != nil {
		suite.Failures++
		s.Failures++
	}
	if c.Error != nil {
		suite.Errors++
		s.Errors++
	}
	if c.Skipped != nil { // the schema of testsuites has no sum of these
		suite.Skipped++
	}
}

// Write writes the suites as an XML document.
func (s *Suites) Write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
