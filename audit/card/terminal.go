package card

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/term"
)

// Terminal writes the report card of an audit: a table with a row for each situation and a column for
// each level, then the broken properties with their reasons, the inconclusive cells, the situations
// in which a broken assumption breaks it, and those that are not applicable.
func Terminal(w io.Writer, r *audit.Result, opt term.Options) error {
	t := cardWriter{term.New(opt)}
	fmt.Fprintf(t, "%s  ", t.Colors.Verdict(r.Verdict(), verdictWord(r)))
	for i, line := range term.Lines(term.Printable(summary(r)), t.Width-len(verdictWord(r))-2) {
		if i > 0 {
			t.WriteString(strings.Repeat(" ", len(verdictWord(r))+2))
		}
		t.WriteString(t.Colors.Bold(line) + "\n")
	}
	t.Text(strings.Repeat(" ", len(verdictWord(r))+2), notVaried(r))
	t.WriteByte('\n')
	t.table(r)
	levels := shownLevels(r)
	t.Text("", legend)
	t.Text("", levelKey(levels))
	t.broken(r)
	rules := t.Section(judge.HintsTitle, judge.HintsMean)
	for _, h := range r.Hints() {
		rules.Text("  "+h.Label()+" ", h.String())
	}
	t.inconclusive(r)
	t.inherent(r)
	t.skipped(r)
	t.errors(r)
	t.WriteByte('\n')
	if row := r.Row("quiet"); row != nil && row.Waiting.Longest > 0 {
		w := row.Waiting
		commands := ""
		if w.CommandsPerSecond > 0 { // else nobody saw the commands
			commands = fmt.Sprintf(", up to %.0f commands in a second of waiting, a waiter asleep for at most %s while nobody held the lock", w.CommandsPerSecond, term.Span(w.Asleep.Round(time.Millisecond)))
		}
		t.Text("", fmt.Sprintf("Waiting, where nothing fails: at most %s, a waiter overtaken at most %s, at most %s to others while a client asked and got none%s.%s No verdict rests on these figures.",
			term.Span(w.Longest.Round(time.Millisecond)), term.Plural(w.Overtaken, "time"), term.Plural(w.Starved, "grant"), commands, toldLate(r)))
	}
	t.Text("", totals(r)+".")
	return t.Flush(w)
}

// cardWriter writes the parts of a report card.
type cardWriter struct{ *term.Writer }

// table writes the table, or paragraphs if the terminal is too narrow for it.
func (t cardWriter) table(r *audit.Result) {
	levels := shownLevels(r)
	g := term.Grid{Header: append(append([]string{"Situation"}, levels...), "Tried"), Right: []int{len(levels) + 1}}
	room := t.Width - term.Gap - len("Tried") - term.Gap
	for _, l := range levels {
		room -= max(len(l), utf8.RuneCountInString(outcomeMark[audit.Inherent])) + term.Gap
	}
	if room < term.Narrowest {
		t.paragraphs(r, levels)
		return
	}
	group := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Group != group {
			group = row.Group
			g.Rows = append(g.Rows, append([]string{group + ":"}, make([]string, len(levels)+1)...))
		}
		cells := []string{"· " + row.Name}
		for _, c := range row.Cells {
			if slices.Contains(levels, c.Level) {
				cells = append(cells, t.mark(c.Outcome))
			}
		}
		g.Rows = append(g.Rows, append(cells, triedText(row)))
	}
	t.Table(&g)
}

// paragraphs writes the card for a narrow terminal: under each situation its outcomes, each
// with its level.
func (t cardWriter) paragraphs(r *audit.Result, levels []string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		var cells []string
		for _, c := range row.Cells {
			if slices.Contains(levels, c.Level) && c.Outcome != audit.NotApplicable {
				cells = append(cells, c.Level+" "+outcomeMark[c.Outcome])
			}
		}
		if len(cells) > 0 {
			t.Text("", row.Name)
			t.Text("    ", strings.Join(cells, ", "))
		}
	}
}

func (t cardWriter) mark(o audit.Outcome) string {
	code := map[audit.Outcome]string{audit.Broken: "1;31", audit.Safe: "32", audit.Inconclusive: "1;33", audit.NotApplicable: "2", audit.Inherent: "33"}[o]
	return t.Colors.With(code, outcomeMark[o])
}

// broken writes the broken properties: where, why, and the command that replays it.
func (t cardWriter) broken(r *audit.Result) {
	for _, weak := range weaknesses(r) {
		row, f := weak.rows[0], weak.findings[0]
		t.Title(fmt.Sprintf("%s %s is broken in %s", weak.level, checker.TitleOf(weak.property), term.Plural(len(weak.rows), "situation")))
		t.Text("  ", fmt.Sprintf("%s: %s", row.Name, row.Says))
		if row.Breaks == "" {
			t.Text("  ", "No assumption of a correct lock is broken there.")
		} else {
			t.Text("  ", "Broken assumption: "+row.Breaks)
		}
		t.Text("  ", f.Why+" ("+foundWhen(r, f)+").")
		for _, step := range shortened(f.Reason) {
			t.Text("    "+step.number, step.text)
		}
		if rules := likelyCauses(r, weak.level); rules != "" {
			t.Text("  ", rules)
		}
		fmt.Fprintf(t, "  Replay: %s\n", term.Printable(f.Command)) // one line, to be copied
		if also := weak.also(); also != "" {
			t.Text("  ", "Also: "+also+".")
		}
	}
}

// inconclusive writes the inconclusive cells, and how to decide them.
func (t cardWriter) inconclusive(r *audit.Result) {
	open, untried := t.Section("Inconclusive"), 0
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, c := range row.Cells {
			if c.Outcome != audit.Inconclusive {
				continue
			}
			if r.Interrupted && row.Schedules == 0 {
				untried++
				break
			}
			f := c.Worst()
			open.Text("  ", fmt.Sprintf("%s, %s %s: %s. To decide it: %s.", row.Name, c.Level, checker.TitleOf(f.Property), strings.TrimRight(f.Why, "."), f.Help))
		}
	}
	if untried > 0 {
		open.Text("  ", fmt.Sprintf("Interrupted before %s was tried: %s audit --resume goes on.", term.Plural(untried, "more situation"), judge.Program))
	}
}

// inherent writes the situations in which a broken assumption breaks the lock.
func (t cardWriter) inherent(r *audit.Result) {
	inherent := t.Section("Inherent: what breaks with an assumption")
	for i := range r.Rows {
		row := &r.Rows[i]
		var levels []string
		for _, c := range row.Cells {
			switch f := c.Worst(); {
			case c.Outcome != audit.Inherent:
			case f.Without == "":
				levels = append(levels, c.Level)
			default: // not by the situation itself
				a, _ := judge.AssumptionNamed(f.Without)
				inherent.Text("  ", fmt.Sprintf("%s (%s), without %s: %s. %s", row.Name, c.Level, f.Without, f.Why, a.Help))
			}
		}
		if len(levels) == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s)", row.Name, strings.Join(levels, ", "))
		if row.Without != "" {
			text += ", without " + row.Without
		}
		text += ": " + row.Inherent
		if row.Help != "" {
			text += " " + row.Help
		}
		inherent.Text("  ", text)
	}
}

// skipped writes the situations that are not applicable, with the reasons.
func (t cardWriter) skipped(r *audit.Result) {
	skipped := t.Section("Not applicable")
	for _, row := range r.Rows {
		if row.Skipped != "" {
			skipped.Text("  ", row.Name+": "+row.Skipped+".")
		}
	}
}

// errors writes the errors that ended schedules.
func (t cardWriter) errors(r *audit.Result) {
	if r.Errors > 0 {
		t.Title("Errors of Lockpick, of which no verdict speaks")
	}
	for _, row := range r.Rows {
		for _, e := range row.Errors {
			t.Text("  ", row.Name+": "+e+".")
		}
	}
}

// totals sums up the audit on one line: schedules, leases, duration, and cells by outcome.
func totals(r *audit.Result) string {
	n := r.Count()
	var parts []string
	for _, o := range []audit.Outcome{audit.Safe, audit.Broken, audit.Inherent, audit.Inconclusive} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	what := "schedule"
	if r.Driver != "sim" {
		what = "run"
	}
	line := fmt.Sprintf("%s with %s granted on %s in %s (budget %s, seed %d). Cells: %s", term.Plural(r.Schedules, what), term.Plural(r.Leases, "lease"), r.Driver,
		term.Span(r.Took.Round(100*time.Millisecond)), r.Budget, r.Seed, strings.Join(parts, ", "))
	if r.Interrupted {
		line += "; interrupted"
	}
	return line
}

// WriteChanges writes the differences from a baseline.
func WriteChanges(w io.Writer, changes []audit.Change, baseline string, opt term.Options) error {
	t := term.New(opt)
	if len(changes) == 0 {
		fmt.Fprintf(t, "Nothing changed since the baseline %s.\n", baseline)
		return t.Flush(w)
	}
	t.Title("Changed since the baseline " + baseline)
	g := term.Grid{Header: []string{"Situation", "Level", "Property", "Before", "Now"}, Wide: 2}
	for _, c := range changes {
		now := string(c.Now)
		switch {
		case c.Worse:
			now = t.Colors.Bold("newly broken")
		case c.Now == audit.Inconclusive:
			now = "newly inconclusive"
		}
		g.Rows = append(g.Rows, []string{c.Situation, c.Level, checker.TitleOf(c.Property), string(c.Before), now})
	}
	t.Table(&g)
	return t.Flush(w)
}

// toldLate says how late holders were told of the loss of their leases in any situation; "" if none was told late.
func toldLate(r *audit.Result) string {
	var latest time.Duration
	for i := range r.Rows {
		latest = max(latest, r.Rows[i].Waiting.ToldLate)
	}
	if latest == 0 {
		return ""
	}
	return fmt.Sprintf(" In all situations, a holder was told of its loss at most %s late.", term.Span(latest.Round(time.Millisecond)))
}
