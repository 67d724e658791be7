package risk

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"lockpick/reports/term"
	"lockpick/search"
)

// Terminal writes an estimate: the violations to expect in a year, by cause, and the effect of other
// setups.
func Terminal(w io.Writer, r *Result, opt term.Options) error {
	t := term.New(opt)
	for _, line := range Headlines(r) {
		t.Text("", line)
	}
	t.Text("", fmt.Sprintf("With 95 %% confidence, for %s. An estimate by simulation, as good as the rates that it was given.", describe(r)))
	t.Title("By cause, a year")
	g := term.Grid{Header: []string{"Cause", "Meets", "L2", r.Setup.effects().Level}, Right: []int{1, 2, 3}}
	for _, c := range shownCauses(r) {
		g.Rows = append(g.Rows, []string{c.Name, twoDigits(c.PerYear), c.L2, c.L4})
	}
	t.Table(&g)
	t.WriteByte('\n')
	t.Text("", "Meets: how often the fault, a lease and another client who wants the key come together. "+`"<2": none was seen, and with 95 % confidence there are fewer.`)
	for _, line := range notes(r) {
		t.Text("", line)
	}
	if len(r.WhatIf) > 0 {
		t.Title("What if, a year")
		g := term.Grid{Header: []string{"Instead", "L2", r.Setup.effects().Level}, Right: []int{1, 2}}
		for _, a := range r.WhatIf {
			g.Rows = append(g.Rows, []string{a.Name, figures(a.Exclusion), figures(a.Effects)})
		}
		t.Table(&g)
	}
	t.Title("Not covered")
	for _, line := range r.Not {
		t.Text("- ", line)
	}
	t.WriteByte('\n')
	t.Text("", totals(r))
	return t.Flush(w)
}

// shownCause is a cause with its rendered numbers.
type shownCause struct {
	Cause
	L2, L4 string
}

// shownCauses returns the causes to show: all but pairs of faults without any violation.
func shownCauses(r *Result) (shown []shownCause) {
	for _, c := range r.Causes {
		if c.Faults < 2 || c.Exclusion.Expected+c.Effects.Expected > 0 {
			shown = append(shown, shownCause{c, figures(c.Exclusion), figures(c.Effects)})
		}
	}
	return shown
}

// effectsTitle names the second kind of violation.
func effectsTitle(r *Result) string { return "Double effects (" + r.Setup.effects().Level + ")" }

// Headlines returns the two main results, one sentence each: violations of L2, and of L4 or L5.
func Headlines(r *Result) []string {
	return []string{
		"Two clients hold a valid lease at once (L2): " + inWords(r.Exclusion) + ".",
		strings.Replace(effectsTitle(r), " (", ", a late write over a newer one (", 1) + ": " + inWords(r.Effects) + ".",
	}
}

// describe describes the estimated setup on one line.
func describe(r *Result) string {
	s := &r.Setup
	text := fmt.Sprintf("%s on %s with persistence %s, TTL %v, %s acquisitions/s of which %s find the key held", s.Lock, term.Plural(s.Masters, "master"), s.Persistence, s.TTL,
		strconv.FormatFloat(s.Acquisitions, 'g', -1, 64), search.Percent(r.Contended))
	if s.Fencing {
		text += ", fencing"
	}
	return text
}

func notes(r *Result) (notes []string) {
	pairs := 0
	most := Interval{}
	for _, c := range r.Causes {
		if c.Faults == 2 && c.Exclusion.Expected+c.Effects.Expected == 0 {
			pairs++
			most.High += c.Exclusion.High + c.Effects.High
		}
	}
	if pairs > 0 {
		notes = append(notes, fmt.Sprintf("%s of faults violated nothing, which leaves at most %s.", term.Plural(pairs, "further pair"), perYear(most.High)))
	}
	if r.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("What was not simulated, because three faults or more would have to meet in one lease, or a pair that hardly ever does, adds at most %s.", perYear(r.LeftOut)))
	}
	return notes
}

func totals(r *Result) string {
	text := fmt.Sprintf("%s samples in %s, seed %d", term.Count(r.Samples), term.Span(r.Elapsed), r.Seed)
	if r.Stopped {
		return text + "; it was interrupted: causes that are missing were not simulated."
	}
	return text + ". More --samples narrow the intervals."
}

// inWords formats a number of violations per year with its 95 % interval, as a rate in words.
func inWords(i Interval) string {
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
func figures(i Interval) string {
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
		return term.Count(int(math.Round(x)))
	case x >= 1e-4:
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(x, 'e', 1, 64)
}
