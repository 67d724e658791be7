package reports

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/claims"
)

// JUnit writes a verification as JUnit XML: one test suite per group of the catalogue, one test
// case per property of each case. An unexpected verdict is a failure, an undecided one an error. A
// case that cannot run on the driver is skipped.
func JUnit(w io.Writer, r *claims.Result) error {
	all := &junitSuites{Name: "lockpick claims on " + r.Driver, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	byGroup := map[string]*junitSuite{}
	for i := range r.Claims {
		c := &r.Claims[i]
		suite := byGroup[c.Group]
		if suite == nil {
			suite = &junitSuite{Name: c.Group}
			byGroup[c.Group] = suite
			all.Suites = append(all.Suites, suite)
		}
		for j := range c.Cases {
			for _, x := range junitCases(r, c, &c.Cases[j]) {
				all.add(suite, x)
			}
		}
	}
	return all.write(w)
}

func junitCases(r *claims.Result, c *claims.ClaimResult, k *claims.CaseResult) []junitCase {
	class := fmt.Sprintf("lockpick.%s.claim-%s", r.Driver, c.ID)
	name := func(parts ...string) string {
		var filled []string
		for _, p := range append([]string{c.ID + " " + strings.TrimRight(c.Claim, "."), k.Name}, parts...) {
			if p != "" {
				filled = append(filled, p)
			}
		}
		return strings.Join(filled, " – ")
	}
	if k.Skipped != "" {
		return []junitCase{{Name: name(), Class: class, Time: "0", Skipped: &junitMessage{Message: k.Skipped}}}
	}
	var all []junitCase
	add := func(f *claims.Finding, of string) {
		x := junitCase{Name: name(of, f.Level+" "+checker.TitleOf(f.Property)), Class: class, Time: fmt.Sprintf("%.3f", f.FoundAfter.Seconds())}
		says := &junitMessage{
			Message: fmt.Sprintf("expected %s, found %s: %s", f.Expected, f.Found, f.Why),
			Text:    strings.Join(append([]string{f.Summary}, f.Reason...), "\n"),
		}
		switch f.Outcome {
		case claims.Unexpected:
			x.Failure = says
		case claims.Undecided:
			x.Error = says
		}
		x.Out = fmt.Sprintf("expected %s, found %s (%s)", f.Expected, f.Found, howFound(f))
		if f.Run != "" {
			x.Out += "\nevidence: " + filepath.Join(r.Folder, f.Run, judge.ReportFile)
		}
		all = append(all, x)
	}
	for i := range k.Findings {
		add(&k.Findings[i], "")
	}
	if k.Twin != nil {
		for i := range k.Twin.Findings {
			add(&k.Twin.Findings[i], "twin")
		}
	}
	if len(k.Figures) > 0 {
		x := junitCase{Name: name("figures"), Class: class, Time: "0"}
		for _, f := range k.Figures {
			x.Out += fmt.Sprintf("%s: %s\n", f.Says, figureValue(f))
		}
		all = append(all, x)
	}
	return all
}
