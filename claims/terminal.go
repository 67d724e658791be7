package claims

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search"
)

// Terminal writes the results of a verification: a row for each property of each case, the figures,
// the skipped cases, and in full the findings that are unexpected or undecided.
func Terminal(w io.Writer, r *Result, opt term.Options) error {
	t := tableWriter{term.New(opt)}
	g := term.Grid{Header: []string{"Claim", "What is claimed, and the case", "Level", "Expected", "Found", "How"}, Wide: 1}
	for i := range r.Claims {
		g.Rows = append(g.Rows, t.claimRows(&r.Claims[i])...)
	}
	t.Table(&g)
	t.figures(r)
	t.skipped(r)
	t.deviations(r)
	t.bounds(r)
	fmt.Fprintf(t, "\n%s\n", t.claimsLine(r))
	return t.Flush(w)
}

// tableWriter writes the parts of the tables of claims.
type tableWriter struct{ *term.Writer }

// claimRows returns the rows of one claim. The first row has its sentence.
func (t tableWriter) claimRows(c *ClaimResult) [][]string {
	var rows [][]string
	add := func(what, level, expected, found, how string) {
		id := ""
		if len(rows) == 0 {
			id = c.ID
		}
		rows = append(rows, []string{id, what, level, expected, found, how})
	}
	for i, k := range c.Cases {
		what := k.Name
		if i == 0 {
			what = c.Claim
			if k.Name != "" {
				what += " – " + k.Name
			}
		}
		if k.Skipped != "" {
			add(what, "", "", t.Colors.Faint("not here"), "")
			continue
		}
		for _, f := range k.Findings {
			add(what, f.Level, string(f.Expected), t.found(&f), narrow(howFound(&f)))
			what = ""
		}
		if len(k.Figures) > 0 && len(k.Findings) == 0 {
			add(what, "", "", "figures", "see below")
		}
		if k.Twin != nil {
			for _, f := range k.Twin.Findings {
				add("twin: "+k.Twin.Shows, f.Level, string(f.Expected), t.found(&f), narrow(howFound(&f)))
			}
		}
	}
	return rows
}

// found renders the verdict of a finding, with a ✗ if it is unexpected.
func (t tableWriter) found(f *PropertyResult) string {
	s := t.Colors.Verdict(f.Found, f.Found.Word())
	if f.Outcome == Unexpected {
		s += t.Colors.Bold(" ✗")
	}
	return s
}

// howFound counts the schedules behind a finding. An expected violation also gets the time until it
// was found, a verdict of holds its evidence and the bound on the rate of violations.
func howFound(f *PropertyResult) string {
	switch {
	case f.Found == checker.Violated && f.Outcome == Expected:
		return fmt.Sprintf("%s, %s", ordinal(f.Schedules), term.Span(f.FoundAfter.Round(time.Millisecond)))
	case f.Found == checker.Violated:
		return fmt.Sprintf("%d of %d", f.Violated, f.Proven)
	case f.Found == checker.Holds:
		how := []string{term.Plural(f.Proven, "schedule")}
		if len(f.Evidence) > 0 { // the other entries count how much of the first was under faults
			how = append(how, term.Count(f.Evidence[0].Got)+" "+f.Evidence[0].What)
		}
		return strings.Join(append(how, "≤ "+search.Percent(f.Bound)), ", ")
	}
	return fmt.Sprintf("%d of %d prove something", f.Proven, f.Schedules)
}

// narrow wraps the text of a cell outside the widest column.
func narrow(s string) string { return strings.Join(term.Lines(s, 32), "\n") }

func ordinal(n int) string {
	if n == 1 {
		return "1st schedule"
	}
	return fmt.Sprintf("in %d schedules", n)
}

func figureValue(f Metric) string {
	if f.N == 0 {
		return "nothing to measure"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s (%s to %s)", digits(f.Value), f.Unit, digits(f.Low), digits(f.High))), " ")
}

// figures writes the measured figures, and then their meanings.
func (t tableWriter) figures(r *Result) {
	var meanings []string
	g := term.Grid{Header: []string{"Claim", "Case", "Figure", "Median", "95 % interval"}, Wide: 1, Right: []int{3}}
	for _, c := range r.Claims {
		id := c.ID
		for _, k := range c.Cases {
			name := cmp.Or(k.Name, c.Slug)
			for _, f := range k.Figures {
				value, interval := "–", ""
				if f.N > 0 {
					value, interval = fmt.Sprintf("%s %s", digits(f.Value), f.Unit), fmt.Sprintf("%s to %s", digits(f.Low), digits(f.High))
				}
				g.Rows = append(g.Rows, []string{id, name, f.Name, strings.TrimSpace(value), interval})
				id, name = "", ""
				if says := f.Name + ": " + f.Says; !slices.Contains(meanings, says) {
					meanings = append(meanings, says)
				}
			}
		}
	}
	if len(g.Rows) == 0 {
		return
	}
	t.Title("Figures")
	t.Table(&g)
	for _, says := range meanings {
		t.Text("  ", says)
	}
}

// bounds explains the bounds of the properties that hold, and how many of them may be too low.
func (t tableWriter) bounds(r *Result) {
	n := 0
	for i := range r.Claims {
		r.Claims[i].each(func(_ string, f *PropertyResult) {
			if f.Found == checker.Holds {
				n++
			}
		})
	}
	if n == 0 {
		return
	}
	says := "≤ bounds the share of a case's schedules that violate the property, with 95 % confidence for each row by itself"
	if wrong := int(math.Round(float64(n) * (1 - search.Confidence))); wrong > 0 {
		says += fmt.Sprintf(": of %s about %s may be too low", term.Plural(n, "bound"), term.Count(wrong))
	}
	t.WriteByte('\n')
	t.Text("", says+".")
}

// digits formats a number with three significant digits; one above 100 as an integer.
func digits(x float64) string {
	switch {
	case x >= 100:
		return term.Count(int(math.Round(x)))
	case x >= 10:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// skipped lists the cases that cannot run on this driver, with the reasons.
func (t tableWriter) skipped(r *Result) {
	skipped := t.Section("Not on the driver " + r.Driver)
	for _, c := range r.Claims {
		for _, k := range c.Cases {
			if k.Skipped != "" {
				skipped.Text("  ", fmt.Sprintf("%s: %s", caseName(&c, &k), k.Skipped))
			}
		}
	}
}

func caseName(c *ClaimResult, k *CaseResult) string {
	if k.Name == "" {
		return c.ID
	}
	return c.ID + " (" + k.Name + ")"
}

// deviations writes the claims that are unexpected or undecided.
func (t tableWriter) deviations(r *Result) {
	for _, c := range r.Claims {
		if c.Outcome != Unexpected && c.Outcome != Undecided {
			continue
		}
		t.Title(fmt.Sprintf("Claim %s is %s", c.ID, c.Outcome))
		for _, k := range c.Cases {
			for _, f := range k.Findings {
				t.deviation(r, caseName(&c, &k), &f)
			}
			if k.Twin != nil {
				for _, f := range k.Twin.Findings {
					t.deviation(r, "the twin of "+caseName(&c, &k), &f)
				}
			}
		}
	}
}

func (t tableWriter) deviation(r *Result, name string, f *PropertyResult) {
	if f.Outcome == Expected {
		return
	}
	t.Text("  ", fmt.Sprintf("%s: %s %s expected %s, found %s: %s", name, f.Level, checker.TitleOf(f.Property), f.Expected, f.Found.Word(), f.Why))
	if f.Summary != "" {
		t.Text("    ", f.Summary)
	}
	for i, step := range f.Reason {
		t.Text("    ", fmt.Sprintf("%d. %s", i+1, step))
	}
	if f.Run != "" {
		fmt.Fprintf(t, "    evidence: %s\n", filepath.Join(r.Folder, f.Run, judge.ReportFile)) // one line, to be copied
	}
}

// claimsLine sums up the verification on one line.
func (t tableWriter) claimsLine(r *Result) string {
	n := r.Count()
	var parts []string
	for _, o := range []Outcome{Expected, Unexpected, Undecided, Reported, NotHere} {
		if n[o] > 0 {
			part := fmt.Sprintf("%d %s", n[o], o)
			if o == Unexpected || o == Undecided {
				part = t.Colors.Bold(part)
			}
			parts = append(parts, part)
		}
	}
	line := fmt.Sprintf("%s on %s in %s (budget %s, seed %d): %s", term.Plural(len(r.Claims), "claim"), r.Driver, term.Span(r.Took.Round(time.Millisecond)), r.Budget, r.Seed, cmp.Or(strings.Join(parts, ", "), "none"))
	if r.Interrupted {
		line += "; interrupted"
	}
	return line
}

// PlantedBugs writes the detection table of planted bugs: for each bug the level that caught it, after
// how many schedules, and whether its twin, the same lock without the bug, was acquitted.
func PlantedBugs(w io.Writer, r *Result, opt term.Options) error {
	t := tableWriter{term.New(opt)}
	g := term.Grid{Header: []string{"Bug", "What is wrong", "Lock", "Level", "Caught", "Twin"}, Wide: 1}
	caught := 0
	for _, c := range r.Claims {
		if c.Outcome == Expected {
			caught++
		}
		for i, k := range c.Cases {
			id, what := "", k.Name
			if i == 0 {
				id, what = c.ID, c.Claim
			}
			if k.Skipped != "" {
				g.Rows = append(g.Rows, []string{id, what, k.Lock, "", "not here", ""})
				continue
			}
			for j, f := range k.Findings {
				twin := ""
				if k.Twin != nil && j < len(k.Twin.Findings) {
					x := &k.Twin.Findings[j]
					twin = fmt.Sprintf("%s %s", x.Found.Word(), term.Plural(x.Proven, "schedule"))
					if x.Outcome == Expected {
						twin = fmt.Sprintf("acquitted, %s", term.Plural(x.Proven, "schedule"))
					}
				}
				mark := t.Colors.Verdict(checker.Holds, "yes, ") + howFound(&f)
				if f.Outcome != Expected {
					mark = t.Colors.Verdict(checker.Violated, "no, ") + f.Found.Word()
				}
				g.Rows = append(g.Rows, []string{id, what, k.Lock, f.Level, mark, twin})
				id, what = "", ""
			}
		}
	}
	t.Table(&g)
	t.skipped(r)
	t.deviations(r)
	fmt.Fprintf(t, "\n%d of %s caught, and the same lock without the bug acquitted, in %s.\n", caught, term.Plural(len(r.Claims), "planted bug"), term.Span(r.Took.Round(time.Millisecond)))
	return t.Flush(w)
}

// WriteChanges writes the differences from a baseline.
func WriteChanges(w io.Writer, changes []Change, baseline string, opt term.Options) error {
	t := tableWriter{term.New(opt)}
	if len(changes) == 0 {
		fmt.Fprintf(t, "Nothing changed since the baseline %s.\n", baseline)
		return t.Flush(w)
	}
	t.Title("Changed since the baseline " + baseline)
	g := term.Grid{Header: []string{"Claim", "What", "Before", "Now"}, Wide: 1}
	for _, c := range changes {
		now := c.Now
		if c.Verdict {
			now = t.Colors.Bold(now + " ✗")
		}
		g.Rows = append(g.Rows, []string{c.Claim, c.What, c.Before, now})
	}
	t.Table(&g)
	return t.Flush(w)
}
