package reports

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/checker/narrative"
	"lockpick/reports/term"
)

// causeRow is a cause of violations as the page lists it.
type causeRow struct {
	judge.Cause
	Title  string
	Levels string // with how often each is violated
	Number int    // of the example on the page; negative: there is none
}

// causeRows lists the causes of a run's violations, with an example from those that the page lists.
func causeRows(r *judge.Result, violations []listed) (rows []causeRow) {
	for _, c := range r.Causes {
		row := causeRow{Cause: c, Title: causeTitle(c), Levels: causeLevels(c), Number: -1}
		if x := c.Example; x != nil {
			row.Number = slices.IndexFunc(violations, func(v listed) bool { return v.Property == x.Property && v.At == x.At && v.Key == x.Key })
		}
		rows = append(rows, row)
	}
	return rows
}

// causeTitle says how violations came about, by which faults.
func causeTitle(c judge.Cause) string {
	title := term.Capitalize(c.Says)
	if len(c.Faults) > 0 {
		title += " (" + strings.Join(c.Faults, ", ") + ")"
	}
	return title
}

// causeLevels lists the violated levels of a cause, each with its number of violations.
func causeLevels(c judge.Cause) string {
	var levels []string
	n := map[string]int{}
	for _, p := range c.Properties {
		if !slices.Contains(levels, p.Level) {
			levels = append(levels, p.Level)
		}
		n[p.Level] += p.Count
	}
	for i, l := range levels {
		levels[i] = fmt.Sprintf("%s ×%s", l, term.Count(n[l]))
	}
	return strings.Join(levels, ", ")
}

// causes lists the causes of the violations, those first that say most, with an example each.
func (t *terminal) causes(r *judge.Result, first *narrative.Violation) {
	all := found(r)
	if all < 2 {
		return
	}
	if len(r.Causes) == 0 { // an older result
		t.Text("  ", fmt.Sprintf("There are %s violations; the report shows them on a timeline.", term.Count(all)))
		return
	}
	t.Title(fmt.Sprintf("Causes of the %s violations", term.Count(all)))
	width := len(term.Count(all)) + 1
	for _, c := range r.Causes {
		text := causeTitle(c) + ": " + causeLevels(c) + "."
		if c.Without != "" {
			text += " Inherent without " + c.Without + "."
		}
		t.Text(fmt.Sprintf("  %*s  ", width, "×"+term.Count(c.Count)), text)
		if x := c.Example; x != nil && (first == nil || x.Summary != first.Summary || x.At != first.At) {
			t.Text(strings.Repeat(" ", width+4), "For example "+x.Summary+".")
		}
	}
}
