package claims

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/junit"
)

// JUnit writes a verification as JUnit XML: one test suite per group of the catalogue, one test
// case per property of each case. An unexpected verdict is a failure, an undecided one an error. A
// case that cannot run on the driver is skipped.
func JUnit(w io.Writer, r *Result) error {
	all := &junit.Suites{Name: "lockpick claims on " + r.Driver, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	byGroup := map[string]*junit.Suite{}
	for i := range r.Claims {
		c := &r.Claims[i]
		suite := byGroup[c.Group]
		if suite == nil {
			suite = &junit.Suite{Name: c.Group}
			byGroup[c.Group] = suite
			all.Suites = append(all.Suites, suite)
		}
		for j := range c.Cases {
			for _, x := range junitCases(r, c, &c.Cases[j]) {
				all.Add(suite, x)
			}
		}
	}
	return all.Write(w)
}

func junitCases(r *Result, c *ClaimResult, k *CaseResult) []junit.Case {
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
		return []junit.Case{{Name: name(), Class: class, Time: "0", Skipped: &junit.Message{Message: k.Skipped}}}
	}
	var all []junit.Case
	add := func(f *PropertyResult, of string) {
		x := junit.Case{Name: name(of, f.Level+" "+checker.TitleOf(f.Property)), Class: class, Time: fmt.Sprintf("%.3f", f.FoundAfter.Seconds())}
		says := &junit.Message{
			Message: fmt.Sprintf("expected %s, found %s: %s", f.Expected, f.Found, f.Why),
			Text:    strings.Join(append([]string{f.Summary}, f.Reason...), "\n"),
		}
		switch f.Outcome {
		case Unexpected:
			x.Failure = says
		case Undecided:
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
		x := junit.Case{Name: name("figures"), Class: class, Time: "0"}
		for _, f := range k.Figures {
			x.Out += fmt.Sprintf("%s: %s\n", f.Says, figureValue(f))
		}
		all = append(all, x)
	}
	return all
}
