package reports

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
)

// Audit writes the report card of an audit: a table with a row for each situation and a column for
// each level, then the broken properties with their reasons, the inconclusive cells, the situations
// in which a broken assumption breaks it, and those that are not applicable.
func Audit(w io.Writer, r *audit.Result, opt TerminalOptions) error {
	t := cardWriter{NewWriter(opt)}
	fmt.Fprintf(t, "%s  ", t.Colors.Verdict(r.Verdict(), auditWord(r)))
	for i, line := range wrap(printable(auditSays(r)), t.Width-len(auditWord(r))-2) {
		if i > 0 {
			t.WriteString(strings.Repeat(" ", len(auditWord(r))+2))
		}
		t.WriteString(t.Colors.Bold(line) + "\n")
	}
	t.Text(strings.Repeat(" ", len(auditWord(r))+2), notVaried(r))
	t.WriteByte('\n')
	if err := t.auditCard(r); err != nil {
		return fmt.Errorf("reports: lay out the card: %w", err)
	}
	levels := auditLevels(r)
	t.Text("", auditLegend)
	t.Text("", levelKey(levels))
	t.auditBroken(r)
	rules := t.Section(judge.HintsTitle, judge.HintsMean)
	for _, h := range r.Hints() {
		rules.Text("  "+h.Label()+" ", h.String())
	}
	t.auditOpen(r)
	t.auditInherent(r)
	t.auditSkipped(r)
	t.auditErrors(r)
	t.WriteByte('\n')
	if row := r.Row("quiet"); row != nil && row.Waiting.Longest > 0 {
		w := row.Waiting
		t.Text("", fmt.Sprintf("Waiting, where nothing fails: at most %s, a waiter overtaken at most %s, up to %.0f commands in a second of waiting, a waiter asleep for at most %s while nobody held the lock.%s It is told, and not judged.",
			span(w.Longest.Round(time.Millisecond)), plural(w.Overtaken, "time"), w.CommandsPerSecond, span(w.Asleep.Round(time.Millisecond)), toldLate(r)))
	}
	t.Text("", auditLine(r)+".")
	return t.Flush(w)
}

// cardWriter writes the parts of a report card.
type cardWriter struct{ *Writer }

// auditCard writes the table, or auditParagraphs if the terminal is too narrow for it.
func (t cardWriter) auditCard(r *audit.Result) error {
	levels := auditLevels(r)
	g := grid{header: append(append([]string{"Situation"}, levels...), "Tried"), right: []int{len(levels) + 1}}
	room := t.Width - gap - len("Tried") - gap
	for _, l := range levels {
		room -= max(len(l), utf8.RuneCountInString(auditMark[audit.Inherent])) + gap
	}
	if room < narrowest {
		return t.auditParagraphs(r, levels)
	}
	group := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Group != group {
			group = row.Group
			g.rows = append(g.rows, append([]string{group + ":"}, make([]string, len(levels)+1)...))
		}
		cells := []string{"· " + row.Name}
		for _, c := range row.Cells {
			if slices.Contains(levels, c.Level) {
				cells = append(cells, t.auditCell(c.Outcome))
			}
		}
		g.rows = append(g.rows, append(cells, auditTried(row)))
	}
	return g.write(t, t.Width)
}

// auditParagraphs writes the card for a narrow terminal: under each situation its outcomes, each
// with its level.
func (t cardWriter) auditParagraphs(r *audit.Result, levels []string) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		var cells []string
		for _, c := range row.Cells {
			if slices.Contains(levels, c.Level) && c.Outcome != audit.NotApplicable {
				cells = append(cells, c.Level+" "+auditMark[c.Outcome])
			}
		}
		if len(cells) > 0 {
			t.Text("", row.Name)
			t.Text("    ", strings.Join(cells, ", "))
		}
	}
	return nil
}

func (t cardWriter) auditCell(o audit.Outcome) string {
	code := map[audit.Outcome]string{audit.Broken: "1;31", audit.Safe: "32", audit.Inconclusive: "1;33", audit.NotApplicable: "2", audit.Inherent: "33"}[o]
	return t.Colors.With(code, auditMark[o])
}

// auditBroken writes the broken properties: where, why, and the command that replays it.
func (t cardWriter) auditBroken(r *audit.Result) {
	for _, weak := range weaknesses(r) {
		row, f := weak.rows[0], weak.findings[0]
		t.Title(fmt.Sprintf("%s %s is broken in %s", weak.level, checker.TitleOf(weak.property), plural(len(weak.rows), "situation")))
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
		fmt.Fprintf(t, "  Replay: %s\n", printable(f.Command)) // one line, to be copied
		if also := weak.also(); also != "" {
			t.Text("  ", "Also: "+also+".")
		}
	}
}

// auditOpen writes the inconclusive cells, and how to decide them.
func (t cardWriter) auditOpen(r *audit.Result) {
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
		open.Text("  ", fmt.Sprintf("Interrupted before %s was tried: %s audit --resume goes on.", plural(untried, "more situation"), judge.Program))
	}
}

// auditInherent writes the situations in which a broken assumption breaks the lock.
func (t cardWriter) auditInherent(r *audit.Result) {
	inherent := t.Section("Inherent: what breaks with an assumption")
	for i := range r.Rows {
		row := &r.Rows[i]
		var levels []string
		for _, c := range row.Cells {
			if c.Outcome == audit.Inherent {
				levels = append(levels, c.Level)
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

// auditSkipped writes the situations that are not applicable, with the reasons.
func (t cardWriter) auditSkipped(r *audit.Result) {
	skipped := t.Section("Not applicable")
	for _, row := range r.Rows {
		if row.Skipped != "" {
			skipped.Text("  ", row.Name+": "+row.Skipped+".")
		}
	}
}

// auditErrors writes the errors that ended schedules.
func (t cardWriter) auditErrors(r *audit.Result) {
	if r.Errors > 0 {
		t.Title("Errors of Lockpick, of which no verdict speaks")
	}
	for _, row := range r.Rows {
		for _, e := range row.Errors {
			t.Text("  ", row.Name+": "+e+".")
		}
	}
}

// auditLine sums up the audit on one line: schedules, leases, duration, and cells by outcome.
func auditLine(r *audit.Result) string {
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
	line := fmt.Sprintf("%s with %s granted on %s in %s (budget %s, seed %d). Cells: %s", plural(r.Schedules, what), plural(r.Leases, "lease"), r.Driver,
		span(r.Took.Round(100*time.Millisecond)), r.Budget, r.Seed, strings.Join(parts, ", "))
	if r.Interrupted {
		line += "; interrupted"
	}
	return line
}

// AuditChanges writes the differences from a baseline.
func AuditChanges(w io.Writer, changes []audit.Change, baseline string, opt TerminalOptions) error {
	t := NewWriter(opt)
	if len(changes) == 0 {
		fmt.Fprintf(t, "Nothing changed since the baseline %s.\n", baseline)
		return t.Flush(w)
	}
	t.Title("Changed since the baseline " + baseline)
	g := grid{header: []string{"Situation", "Level", "Property", "Before", "Now"}, wide: 2}
	for _, c := range changes {
		now := string(c.Now)
		switch {
		case c.Worse:
			now = t.Colors.Bold("newly broken")
		case c.Now == audit.Inconclusive:
			now = "newly inconclusive"
		}
		g.rows = append(g.rows, []string{c.Situation, c.Level, checker.TitleOf(c.Property), string(c.Before), now})
	}
	if err := g.write(t, t.Width); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
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
	return fmt.Sprintf(" In all situations, a holder was told of its loss at most %s late.", span(latest.Round(time.Millisecond)))
}
