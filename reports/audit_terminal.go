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
)

// Audit writes the report card of an audit: a table with a row for each situation and a column for
// each level, then the broken properties with their reasons, the inconclusive cells, the situations
// in which a broken assumption breaks it, and those that are not applicable.
func Audit(w io.Writer, r *audit.Result, opt TerminalOptions) error {
	t := newTerminal(opt)
	fmt.Fprintf(&t.out, "%s  ", t.colors.verdict(r.Verdict(), auditWord(r)))
	for i, line := range wrap(printable(auditSays(r)), t.width-len(auditWord(r))-2) {
		if i > 0 {
			t.out.WriteString(strings.Repeat(" ", len(auditWord(r))+2))
		}
		t.out.WriteString(t.colors.bold(line) + "\n")
	}
	t.text(strings.Repeat(" ", len(auditWord(r))+2), notVaried(r))
	t.out.WriteByte('\n')
	if err := t.auditCard(r); err != nil {
		return fmt.Errorf("reports: lay out the card: %w", err)
	}
	levels := auditLevels(r)
	t.text("", auditLegend)
	t.text("", levelKey(levels))
	t.auditBroken(r)
	t.hints(r.Hints())
	t.auditOpen(r)
	t.auditInherent(r)
	t.auditSkipped(r)
	t.auditErrors(r)
	t.out.WriteByte('\n')
	if row := r.Row("quiet"); row != nil && row.Waiting.Longest > 0 {
		w := row.Waiting
		t.text("", fmt.Sprintf("Waiting, where nothing fails: at most %s, a waiter overtaken at most %s, up to %.0f commands in a second of waiting, a waiter asleep for at most %s while nobody held the lock.%s It is told, and not judged.",
			span(w.Longest.Round(time.Millisecond)), plural(w.Overtaken, "time"), w.CommandsPerSecond, span(w.Asleep.Round(time.Millisecond)), toldLate(r)))
	}
	t.text("", auditLine(r)+".")
	return t.flush(w)
}

// auditCard writes the table, or auditParagraphs if the terminal is too narrow for it.
func (t *terminal) auditCard(r *audit.Result) error {
	levels := auditLevels(r)
	g := grid{header: append(append([]string{"Situation"}, levels...), "Tried"), right: []int{len(levels) + 1}}
	room := t.width - gap - len("Tried") - gap
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
	return g.write(&t.out, t.width)
}

// auditParagraphs writes the card for a narrow terminal: under each situation its outcomes, each
// with its level.
func (t *terminal) auditParagraphs(r *audit.Result, levels []string) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		var cells []string
		for _, c := range row.Cells {
			if slices.Contains(levels, c.Level) && c.Outcome != audit.NotApplicable {
				cells = append(cells, c.Level+" "+auditMark[c.Outcome])
			}
		}
		if len(cells) > 0 {
			t.text("", row.Name)
			t.text("    ", strings.Join(cells, ", "))
		}
	}
	return nil
}

func (t *terminal) auditCell(o audit.Outcome) string {
	code := map[audit.Outcome]string{audit.Broken: "1;31", audit.Safe: "32", audit.Inconclusive: "1;33", audit.NotApplicable: "2", audit.Inherent: "33"}[o]
	return t.colors.with(code, auditMark[o])
}

// auditBroken writes the broken properties: where, why, and the command that replays it.
func (t *terminal) auditBroken(r *audit.Result) {
	for _, weak := range weaknesses(r) {
		row, f := weak.rows[0], weak.findings[0]
		t.title(fmt.Sprintf("%s %s is broken in %s", weak.level, words(weak.property), plural(len(weak.rows), "situation")))
		t.text("  ", fmt.Sprintf("%s: %s", row.Name, row.Says))
		if row.Breaks == "" {
			t.text("  ", "No assumption of a correct lock is broken there.")
		} else {
			t.text("  ", "Broken assumption: "+row.Breaks)
		}
		t.text("  ", f.Why+" ("+foundWhen(r, f)+").")
		for _, step := range shortened(f.Reason) {
			t.text("    "+step.number, step.text)
		}
		if rules := likelyCauses(r, weak.level); rules != "" {
			t.text("  ", rules)
		}
		fmt.Fprintf(&t.out, "  Replay: %s\n", printable(f.Command)) // one line, to be copied
		if also := weak.also(); also != "" {
			t.text("  ", "Also: "+also+".")
		}
	}
}

// auditOpen writes the inconclusive cells, and how to decide them.
func (t *terminal) auditOpen(r *audit.Result) {
	first, untried := true, 0
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
			if first {
				t.title("Inconclusive")
				first = false
			}
			f := c.Worst()
			t.text("  ", fmt.Sprintf("%s, %s %s: %s. To decide it: %s.", row.Name, c.Level, words(f.Property), strings.TrimRight(f.Why, "."), f.Help))
		}
	}
	if untried > 0 {
		if first {
			t.title("Inconclusive")
		}
		t.text("  ", fmt.Sprintf("Interrupted before %s was tried: %s audit --resume goes on.", plural(untried, "more situation"), judge.Program))
	}
}

// auditInherent writes the situations in which a broken assumption breaks the lock.
func (t *terminal) auditInherent(r *audit.Result) {
	first := true
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
		if first {
			t.title("Inherent: what breaks with an assumption")
			first = false
		}
		text := fmt.Sprintf("%s (%s)", row.Name, strings.Join(levels, ", "))
		if row.Without != "" {
			text += ", without " + row.Without
		}
		text += ": " + row.Inherent
		if row.Help != "" {
			text += " " + row.Help
		}
		t.text("  ", text)
	}
}

// auditSkipped writes the situations that are not applicable, with the reasons.
func (t *terminal) auditSkipped(r *audit.Result) {
	first := true
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Skipped == "" {
			continue
		}
		if first {
			t.title("Not applicable")
			first = false
		}
		t.text("  ", row.Name+": "+row.Skipped+".")
	}
}

// auditErrors writes the errors that ended schedules.
func (t *terminal) auditErrors(r *audit.Result) {
	if r.Errors > 0 {
		t.title("Errors of Lockpick, of which no verdict speaks")
	}
	for i := range r.Rows {
		for _, e := range r.Rows[i].Errors {
			t.text("  ", r.Rows[i].Name+": "+e+".")
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
	t := newTerminal(opt)
	if len(changes) == 0 {
		fmt.Fprintf(&t.out, "Nothing changed since the baseline %s.\n", baseline)
		return t.flush(w)
	}
	t.title("Changed since the baseline " + baseline)
	g := grid{header: []string{"Situation", "Level", "Property", "Before", "Now"}, wide: 2}
	for _, c := range changes {
		now := string(c.Now)
		switch {
		case c.Worse:
			now = t.colors.bold("newly broken")
		case c.Now == audit.Inconclusive:
			now = "newly inconclusive"
		}
		g.rows = append(g.rows, []string{c.Situation, c.Level, words(c.Property), string(c.Before), now})
	}
	if err := g.write(&t.out, t.width); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return t.flush(w)
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
