package reports

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lockpick/risk"
	"lockpick/search"
)

// Risk writes an estimate: the violations to expect in a year, by cause, and the effect of other
// setups.
func Risk(w io.Writer, r *risk.Result, opt TerminalOptions) error {
	t := NewWriter(opt)
	for _, line := range RiskHeadlines(r) {
		t.Text("", line)
	}
	t.Text("", fmt.Sprintf("With 95 %% confidence, for %s. An estimate by simulation, as good as the rates that it was given.", riskSetup(r)))
	t.Title("By cause, a year")
	g := grid{header: []string{"Cause", "Meets", "L2", riskLevel(r)}, right: []int{1, 2, 3}}
	for _, c := range riskCauses(r) {
		g.rows = append(g.rows, []string{c.Name, twoDigits(c.PerYear), c.L2, c.L4})
	}
	if err := g.write(t, t.Width); err != nil {
		return fmt.Errorf("reports: lay out the causes: %w", err)
	}
	t.WriteByte('\n')
	t.Text("", "Meets: how often the fault, a lease and another client who wants the key come together. "+`"<2": none was seen, and with 95 % confidence there are fewer.`)
	for _, line := range riskNotes(r) {
		t.Text("", line)
	}
	if len(r.WhatIf) > 0 {
		t.Title("What if, a year")
		g := grid{header: []string{"Instead", "L2", riskLevel(r)}, right: []int{1, 2}}
		for _, a := range r.WhatIf {
			g.rows = append(g.rows, []string{a.Name, figures(a.Exclusion), figures(a.Effects)})
		}
		if err := g.write(t, t.Width); err != nil {
			return fmt.Errorf("reports: lay out the other setups: %w", err)
		}
	}
	t.Title("Not covered")
	for _, line := range r.Not {
		t.Text("- ", line)
	}
	t.WriteByte('\n')
	t.Text("", riskLine(r))
	return t.Flush(w)
}

// riskCause is a cause with its rendered numbers.
type riskCause struct {
	risk.Cause
	L2, L4 string
}

// riskCauses returns the causes to show: all but pairs of faults without any violation.
func riskCauses(r *risk.Result) (shown []riskCause) {
	for _, c := range r.Causes {
		if c.Faults < 2 || c.Exclusion.Expected+c.Effects.Expected > 0 {
			shown = append(shown, riskCause{c, figures(c.Exclusion), figures(c.Effects)})
		}
	}
	return shown
}

func riskLevel(r *risk.Result) string {
	if r.Setup.Fencing {
		return "L5"
	}
	return "L4"
}

func riskEffects(r *risk.Result) string {
	if r.Setup.Fencing {
		return "Double effects (L5)"
	}
	return "Double effects (L4)"
}

// RiskHeadlines returns the two main results, one sentence each: violations of L2, and of L4 or L5.
func RiskHeadlines(r *risk.Result) []string {
	return []string{
		"Two clients hold a valid lease at once (L2): " + interval(r.Exclusion) + ".",
		strings.Replace(riskEffects(r), " (", ", a late write over a newer one (", 1) + ": " + interval(r.Effects) + ".",
	}
}

// riskSetup describes the estimated setup on one line.
func riskSetup(r *risk.Result) string {
	s := &r.Setup
	text := fmt.Sprintf("%s on %s with persistence %s, TTL %v, %s acquisitions/s of which %s find the key held", s.Lock, plural(s.Masters, "master"), s.Persistence, s.TTL,
		strconv.FormatFloat(s.Acquisitions, 'g', -1, 64), search.Percent(r.Contended))
	if s.Fencing {
		text += ", fencing"
	}
	return text
}

func riskNotes(r *risk.Result) (notes []string) {
	pairs := 0
	most := risk.Interval{}
	for _, c := range r.Causes {
		if c.Faults == 2 && c.Exclusion.Expected+c.Effects.Expected == 0 {
			pairs++
			most.High += c.Exclusion.High + c.Effects.High
		}
	}
	if pairs > 0 {
		notes = append(notes, fmt.Sprintf("%s of faults violated nothing, which leaves at most %s.", plural(pairs, "further pair"), perYear(most.High)))
	}
	if r.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("What was not simulated, because three faults or more would have to meet in one lease, or a pair that hardly ever does, adds at most %s.", perYear(r.LeftOut)))
	}
	return notes
}

func riskLine(r *risk.Result) string {
	text := fmt.Sprintf("%s samples in %s, seed %d", count(r.Samples), span(r.Elapsed), r.Seed)
	if r.Stopped {
		return text + "; it was interrupted: causes that are missing were not simulated."
	}
	return text + ". More --samples narrow the intervals."
}

// interval formats a number of violations per year with its 95 % interval, as a rate in words.
func interval(i risk.Interval) string {
	switch {
	case i.High == 0:
		return "none"
	case i.Expected == 0:
		return "fewer than " + perYear(i.High) + "; none was seen"
	}
	if i.Expected < seldom {
		return fmt.Sprintf("%s (%s–%s)", perYear(i.Expected), twoDigits(1/i.High), years(i.Low))
	}
	return fmt.Sprintf("%s (%s–%s)", perYear(i.Expected), twoDigits(i.Low), twoDigits(i.High))
}

// figures formats the same as plain numbers per year, for tables.
func figures(i risk.Interval) string {
	switch {
	case i.High == 0:
		return "none"
	case i.Expected == 0:
		return "<" + twoDigits(i.High)
	}
	return fmt.Sprintf("%s (%s–%s)", twoDigits(i.Expected), twoDigits(i.Low), twoDigits(i.High))
}

// seldom is the rate per year below which "1 in 340 years" is easier to understand.
const seldom = 0.1

// perYear formats a rate per year: "23 a year", "1 in 340 years".
func perYear(x float64) string {
	switch {
	case x == 0:
		return "never"
	case x >= seldom:
		return twoDigits(x) + " a year"
	case 1/x < 1e9:
		return "1 in " + twoDigits(1/x) + " years"
	}
	return "1 in more than a billion years"
}

// years formats the mean time in years between events at a rate of x per year.
func years(x float64) string {
	if x == 0 || 1/x > 1e9 {
		return "∞"
	}
	return twoDigits(1 / x)
}

// twoDigits formats a number with two significant digits.
func twoDigits(x float64) string {
	if x <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	x = math.Round(x/unit) * unit
	switch {
	case x >= 10 && x < 1e15:
		return count(int(math.Round(x)))
	case x >= 1e-4:
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(x, 'e', 1, 64)
}
