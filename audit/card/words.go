package card

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history/fault"
	"lockpick/reports/term"
	"lockpick/search"
	"lockpick/watch"
)

// outcomeMark maps each outcome to its mark in the report cards.
var outcomeMark = map[audit.Outcome]string{
	audit.Safe: "✓", audit.Broken: "✗", audit.Inherent: "(✗)", audit.Inconclusive: "?", audit.NotApplicable: "–",
}

// legend explains the marks.
const legend = "✓ safe, ✗ broken, (✗) inherent: broken because an assumption is, ? inconclusive, – not applicable"

// levelWords describes the levels, which are the columns of a card.
var levelWords = []struct{ level, words string }{
	{"L1", "keys on the masters"}, {"L2", "leases: mutual exclusion"}, {"L3", "critical sections"}, {"L4", "writes"}, {"L5", "writes behind a fence"},
	{"FM", "fencing tokens"}, {"EXT", "extensions"}, {"DF", "freedom of deadlock"}, {"AV", "availability"},
}

// levelKey explains the given levels on one line.
func levelKey(levels []string) string {
	var all []string
	for _, l := range levelWords {
		if slices.Contains(levels, l.level) {
			all = append(all, l.level+" "+l.words)
		}
	}
	return strings.Join(all, ", ")
}

// shownLevels returns the levels that apply in at least one row: the columns of the card.
func shownLevels(r *audit.Result) []string {
	var levels []string
	for _, l := range audit.Levels() {
		for i := range r.Rows {
			if slices.ContainsFunc(r.Rows[i].Cells, func(c audit.Cell) bool { return c.Level == l && c.Outcome != audit.NotApplicable }) {
				levels = append(levels, l)
				break
			}
		}
	}
	return levels
}

// fullName returns the lock's name, with that of its library if they differ.
func fullName(r *audit.Result) string {
	if r.Library != "" && r.Library != r.Lock {
		return fmt.Sprintf("%s (%s)", r.Lock, r.Library)
	}
	return r.Lock
}

// summary sums up the result in one sentence.
func summary(r *audit.Result) string {
	n := map[audit.Outcome]int{} // number of situations by their worst outcome
	tried := 0
	var without []string // assumptions without which the lock is broken
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Skipped != "" || r.Interrupted && row.Schedules == 0 {
			continue
		}
		tried++
		worst := worstOf(row)
		n[worst]++
		if worst == audit.Inherent {
			without = addWithout(without, row)
		}
	}
	var parts []string
	switch {
	case n[audit.Broken] > 0:
		parts = append(parts, fmt.Sprintf("broken in %d of %s", n[audit.Broken], term.Plural(tried, "situation")))
	case r.Verdict() == checker.Holds:
		parts = append(parts, fmt.Sprintf("safe under its assumptions (broken in 0 of %s)", term.Plural(tried, "situation")))
	default:
		parts = append(parts, fmt.Sprintf("not broken, and safe in %d of %s", n[audit.Safe], term.Plural(tried, "situation")))
	}
	if len(without) > 0 {
		parts = append(parts, "breaks without "+fault.Enumerate(without))
	}
	if n[audit.Inconclusive] > 0 {
		parts = append(parts, fmt.Sprintf("%d inconclusive", n[audit.Inconclusive]))
	}
	if r.Errors > 0 {
		parts = append(parts, term.Plural(r.Errors, "schedule")+" ended with an error of Lockpick")
	}
	return fullName(r) + ": " + strings.Join(parts, "; ")
}

// addWithout adds the names of the assumptions without which a row's inherent cells are broken, each once.
func addWithout(names []string, row *audit.Row) []string {
	for i := range row.Cells {
		if c := &row.Cells[i]; c.Outcome == audit.Inherent {
			if name := cmp.Or(c.Worst().Without, row.Without); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// notVaried says what the card says nothing about.
func notVaried(r *audit.Result) string {
	text := "Not varied: " + strings.Join(r.NotVaried(), ", ") + "."
	for _, why := range r.NotKnown() {
		text += " " + why + "."
	}
	return text
}

// verdictWord returns the verdict as the card shows it: BROKEN, SAFE, INTERRUPTED or INCONCLUSIVE.
func verdictWord(r *audit.Result) string {
	switch r.Verdict() {
	case checker.Violated:
		return "BROKEN"
	case checker.Holds:
		return "SAFE"
	case checker.Unknown:
		return "INTERRUPTED"
	}
	return "INCONCLUSIVE"
}

// worstOf returns the worst outcome among the cells of a row.
func worstOf(row *audit.Row) audit.Outcome {
	worst := audit.NotApplicable
	for _, c := range row.Cells {
		if slices.Index(audit.Outcomes, c.Outcome) < slices.Index(audit.Outcomes, worst) {
			worst = c.Outcome
		}
	}
	return worst
}

// triedText returns the number of schedules of a row; empty: the row was skipped.
func triedText(row *audit.Row) string {
	if row.Skipped != "" {
		return ""
	}
	return term.Count(row.Schedules)
}

// foundWhen says which schedule or run violated the property, and how long after its start.
func foundWhen(r *audit.Result, f *audit.PropertyResult) string {
	within := ""
	if f.Case != "" {
		within = ", case “" + f.Case + "”"
	}
	if r.Driver == "sim" {
		return fmt.Sprintf("schedule %d%s, %s into it", f.Number, within, term.Span(f.At.Round(time.Millisecond)))
	}
	return fmt.Sprintf("run %d%s, %s into it", f.Number, within, term.Span(f.At.Round(time.Millisecond)))
}

// weakness is a broken property with the situations that break it and their findings. Situations
// that break no assumption of a correct lock come first.
type weakness struct {
	property string
	level    string
	rows     []*audit.Row
	findings []*audit.PropertyResult
}

// weaknesses lists the broken properties in the order of their levels.
func weaknesses(r *audit.Result) []*weakness {
	var all []*weakness
	for _, breaks := range []bool{false, true} {
		for i := range r.Rows {
			row := &r.Rows[i]
			if (row.Breaks != "") != breaks {
				continue
			}
			for j := range row.Cells {
				for k := range row.Cells[j].Findings {
					f := &row.Cells[j].Findings[k]
					if f.Outcome != audit.Broken {
						continue
					}
					at := slices.IndexFunc(all, func(w *weakness) bool { return w.property == f.Property })
					if at < 0 {
						at = len(all)
						all = append(all, &weakness{property: f.Property, level: row.Cells[j].Level})
					}
					all[at].rows, all[at].findings = append(all[at].rows, row), append(all[at].findings, f)
				}
			}
		}
	}
	levels := audit.Levels()
	slices.SortStableFunc(all, func(a, b *weakness) int {
		return cmp.Compare(slices.Index(levels, a.level), slices.Index(levels, b.level))
	})
	return all
}

// likelyCauses names the broken rules that may explain a violation at a level; empty: there is none.
func likelyCauses(r *audit.Result, level string) string {
	var names []string
	for _, h := range judge.Explaining(r.Hints(), level) {
		if h.Severity == watch.Error {
			names = append(names, h.ID)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Likely cause, from the lock's commands: " + fault.Enumerate(names) + " (see below)."
}

// mostAlso limits how many other situations are named.
const mostAlso = 8

// also names the other situations in which a property is broken.
func (w *weakness) also() string {
	var names []string
	for i, row := range w.rows[1:] {
		if left := len(w.rows) - 1 - i; i == mostAlso && left > 1 {
			names = append(names, fmt.Sprintf("and %d more", left))
			break
		}
		names = append(names, row.Name)
	}
	return strings.Join(names, ", ")
}

// describe describes a cell on one line, for tooltips and JUnit messages.
func describe(c *audit.Cell) string {
	f := c.Worst()
	if f == nil {
		return "not applicable"
	}
	says := fmt.Sprintf("%s: %s: %s", c.Outcome, checker.TitleOf(f.Property), f.Why)
	if f.Without != "" {
		says += ", without " + f.Without
	}
	if c.Outcome == audit.Safe && f.Proven > 0 {
		says += fmt.Sprintf("; at most %s of such schedules violate it (95 %% confidence)", search.Percent(search.Bound(f.Proven, 1)))
	}
	return says
}

// A long reason is shortened to its first and its last steps, at most so many of each.
const (
	firstSteps = 3
	lastSteps  = 8
)

// numbered is a step of a reason with its number.
type numbered struct{ number, text string }

// shortened numbers the steps of a reason. In a long one, a single line replaces the middle steps.
func shortened(reason []string) []numbered {
	var all []numbered
	for i, text := range reason {
		left := len(reason) - lastSteps - firstSteps
		switch {
		case left <= 1 || i < firstSteps || i >= firstSteps+left:
			all = append(all, numbered{fmt.Sprintf("%d. ", i+1), text})
		case i == firstSteps:
			all = append(all, numbered{"   ", fmt.Sprintf("… %d more steps, which the report of the run has", left)})
		}
	}
	return all
}
