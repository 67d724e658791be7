package card

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/term"
)

// board is a scoreboard prepared for rendering.
type board struct {
	*audit.Scoreboard
	Line   string
	Levels []string
	Key    string // explains the levels
	Locks  []boardLock
	Groups []boardGroup
}

// boardLock is a lock with its findings.
type boardLock struct {
	audit.Entry
	Library string
	Broken  int // situations that break a property
	Tried   int // situations tried
	Totals  []boardCell
	Found   []boardFinding
}

// boardCell is a mark with its explanation.
type boardCell struct {
	Outcome audit.Outcome
	Text    string // such as ✗ L2 L3
	Says    string
}

// boardFinding is a broken property, in the situation that breaks the fewest assumptions.
type boardFinding struct {
	Level, Property, Situation, Says string
	Finding                          *audit.PropertyResult
	Steps                            []numbered
	Commands                         []boardCommand // for each situation that breaks it
}

// boardCommand is the command that tries a situation again.
type boardCommand struct{ Situation, Command string }

type boardGroup struct {
	Title string
	Rows  []boardRow
}

// boardRow is a situation with the outcomes of all locks.
type boardRow struct {
	ID, Name, Says string
	Cells          []boardCell
}

func newBoard(b *audit.Scoreboard) *board {
	v := &board{Scoreboard: b}
	var cards []*audit.Result
	for _, e := range b.Entries {
		if e.Card != nil {
			cards = append(cards, e.Card)
		}
	}
	for _, l := range audit.Levels() {
		if slices.ContainsFunc(cards, func(r *audit.Result) bool { return slices.Contains(shownLevels(r), l) }) {
			v.Levels = append(v.Levels, l)
		}
	}
	v.Key = levelKey(v.Levels)
	for _, e := range b.Entries {
		v.Locks = append(v.Locks, v.lock(e))
	}
	v.situations()
	v.Line = fmt.Sprintf("%s, seed %d, budget %s, driver %s", b.Started.Format(time.DateOnly), b.Seed, b.Budget, b.Driver)
	for _, name := range judge.ServersOf(b.Versions) {
		v.Line += ", " + name + " " + b.Versions[name]
	}
	if x := b.Versions["lockpick"]; x != "" {
		v.Line += ", Lockpick " + x
	}
	return v
}

func (v *board) lock(e audit.Entry) boardLock {
	l := boardLock{Entry: e}
	r := e.Card
	if r == nil {
		return l
	}
	l.Library = r.Library
	if e.Packages != "" {
		l.Library += " (" + e.Packages + ")"
	}
	for i := range r.Rows {
		if r.Rows[i].Skipped != "" {
			continue
		}
		l.Tried++
		if worstOf(&r.Rows[i]) == audit.Broken {
			l.Broken++
		}
	}
	for _, level := range v.Levels {
		worst, n := r.Worst(level)
		c := boardCell{Outcome: worst, Text: outcomeMark[worst], Says: level + ": " + string(worst)}
		if worst == audit.Broken {
			c.Text += fmt.Sprintf(" %d", n)
			c.Says = fmt.Sprintf("%s: broken in %s", level, term.Plural(n, "situation"))
		}
		l.Totals = append(l.Totals, c)
	}
	for _, w := range weaknesses(r) {
		f := boardFinding{Level: w.level, Property: w.property, Situation: w.rows[0].Name, Says: w.rows[0].Says, Finding: w.findings[0], Steps: shortened(w.findings[0].Reason)}
		for _, row := range w.rows {
			f.Commands = append(f.Commands, boardCommand{row.Name, repeatCommand(&e, row.ID)})
		}
		l.Found = append(l.Found, f)
	}
	return l
}

// situations makes a row for each situation of the first card.
func (v *board) situations() {
	for i := range v.Entries {
		r := v.Entries[i].Card
		if r == nil {
			continue
		}
		for j := range r.Rows {
			row := &r.Rows[j]
			if len(v.Groups) == 0 || v.Groups[len(v.Groups)-1].Title != row.Group {
				v.Groups = append(v.Groups, boardGroup{Title: row.Group})
			}
			g := &v.Groups[len(v.Groups)-1]
			g.Rows = append(g.Rows, boardRow{ID: row.ID, Name: row.Name, Says: row.Says, Cells: v.across(row.ID)})
		}
		return // all cards have the same situations
	}
}

// across returns the cells of all locks in one situation.
func (v *board) across(id string) []boardCell {
	var cells []boardCell
	for _, e := range v.Entries {
		c := boardCell{Outcome: audit.NotApplicable, Text: outcomeMark[audit.NotApplicable], Says: e.Name + ": not tried"}
		if e.Card != nil {
			if i := slices.IndexFunc(e.Card.Rows, func(r audit.Row) bool { return r.ID == id }); i >= 0 {
				c = situationCell(e.Name, &e.Card.Rows[i])
			}
		}
		cells = append(cells, c)
	}
	return cells
}

// situationCell returns the worst outcome of a row; if that is broken, with the broken levels.
func situationCell(name string, row *audit.Row) boardCell {
	worst := worstOf(row)
	c := boardCell{Outcome: worst, Text: outcomeMark[worst], Says: name + ": " + string(worst)}
	switch {
	case row.Skipped != "":
		c.Says = name + ": not applicable: " + row.Skipped
	case worst == audit.Broken || worst == audit.Inconclusive:
		for i := range row.Cells {
			if cell := &row.Cells[i]; cell.Outcome == worst {
				if worst == audit.Broken {
					c.Text += " " + cell.Level
				}
				if f := cell.Worst(); f != nil {
					c.Says += fmt.Sprintf("; %s: %s", cell.Level, f.Why)
				}
			}
		}
	}
	return c
}

// boardIntro returns the introduction of a scoreboard.
func boardIntro(b *audit.Scoreboard) string {
	return fmt.Sprintf("Each lock went through the battery of `lockpick audit` (docs/audit.md). Broken is only what came back in each of %d replays; what was seen and did not come back so is inconclusive. "+
		"What is said here is about these versions in these situations, as their clients use them (docs/clients.md). A lock that promises less may be broken where it promises nothing.", b.Times)
}

// ScoreboardMarkdown writes a scoreboard as a Markdown page.
func ScoreboardMarkdown(w io.Writer, b *audit.Scoreboard) error {
	v := newBoard(b)
	var out bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&out, format, args...) }
	p("# Locks in use: a scoreboard\n\n%s\n\nMade on %s, by\n\n```text\n%s --markdown scoreboard.md\n```\n\n", strings.NewReplacer("docs/audit.md", "[audit.md](audit.md)", "docs/clients.md", "[clients.md](clients.md)").Replace(boardIntro(b)), v.Line, b.Command)
	p("## The locks\n\nA number: in how many situations the level is broken. %s. %s.\n\n", legend, v.Key)
	p("| lock | language | library | %s |\n|---|---|---|%s\n", strings.Join(v.Levels, " | "), strings.Repeat(":-:|", len(v.Levels)))
	for _, l := range v.Locks {
		p("| [%s](#%s) | %s | %s |", term.Markdown(l.Name), l.Name, term.Markdown(l.Language), term.Markdown(l.Library))
		if l.Card == nil {
			p(" not tried: %s |%s\n", term.Markdown(l.Missing), strings.Repeat(" |", len(v.Levels)-1))
			continue
		}
		for _, c := range l.Totals {
			p(" %s |", c.Text)
		}
		p("\n")
	}
	p("\n## The situations\n\n| situation |")
	for _, l := range v.Locks {
		p(" %s |", term.Markdown(l.Name))
	}
	p("\n|---|%s\n", strings.Repeat(":-:|", len(v.Locks)))
	for _, g := range v.Groups {
		p("| **%s** |%s\n", term.Markdown(g.Title), strings.Repeat(" |", len(v.Locks)))
		for _, row := range g.Rows {
			p("| %s |", term.Markdown(row.Name))
			for _, c := range row.Cells {
				p(" %s |", c.Text)
			}
			p("\n")
		}
	}
	p("\n")
	for _, l := range v.Locks {
		l.markdown(p)
	}
	p("What was said about these libraries, and what a test of it showed, is in [findings.md](findings.md).\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (l *boardLock) markdown(p func(string, ...any)) {
	p("## %s\n\n%s.", l.Name, term.Markdown(term.Capitalize(l.Summary)))
	if l.Library != "" {
		p(" Tried: %s.", term.Markdown(l.Library))
	}
	p("\n\n")
	if l.Promise != "" {
		p("What it documents: %s (%s)\n\n", term.Markdown(l.Promise), term.Markdown(l.Source))
	}
	switch {
	case l.Card == nil:
		p("Not tried: %s.\n\n", term.Markdown(l.Missing))
		return
	case len(l.Found) == 0:
		p("Nothing is broken in %s.\n\n", term.Plural(l.Tried, "situation"))
		return
	}
	p("Broken in %d of %s.\n\n", l.Broken, term.Plural(l.Tried, "situation"))
	for _, f := range l.Found {
		p("**%s %s**, first in “%s”. %s %s\n\n", f.Level, checker.TitleOf(f.Property), term.Markdown(f.Situation), term.Markdown(f.Says), term.Markdown(f.Finding.Why))
		for _, step := range f.Steps {
			p("%s%s\n", step.number, term.Markdown(step.text))
		}
		p("\nReplayed %d of %d times. ", f.Finding.Replayed.Times, f.Finding.Replayed.Of)
		p("%s\n\n```text\n", foundIn(len(f.Commands)))
		for _, c := range f.Commands {
			p("%s\n", c.Command)
		}
		p("```\n\n")
	}
}

func foundIn(situations int) string {
	if situations == 1 {
		return "To see it again:"
	}
	return fmt.Sprintf("To see it again, in each of %d situations:", situations)
}

// ScoreboardTerminal writes a scoreboard for a terminal.
func ScoreboardTerminal(w io.Writer, b *audit.Scoreboard, opt term.Options) error {
	v := newBoard(b)
	t := term.New(opt)
	g := term.Grid{Header: append([]string{"Lock"}, v.Levels...)}
	for _, l := range v.Locks {
		row := []string{l.Name}
		for i := range v.Levels {
			if l.Card == nil {
				row = append(row, "")
				continue
			}
			row = append(row, l.Totals[i].Text)
		}
		g.Rows = append(g.Rows, row)
	}
	t.Table(&g)
	t.Text("", "A number: in how many situations the level is broken. "+legend)
	t.Text("", v.Key)
	for _, l := range v.Locks {
		if l.Card == nil {
			t.Text("", fmt.Sprintf("%s was not tried: %s", l.Name, l.Missing))
		}
	}
	t.WriteByte('\n')
	t.Text("", v.Line+".")
	return t.Flush(w)
}

// repeatCommand returns the command that tries a lock in one situation again.
func repeatCommand(e *audit.Entry, situation string) string {
	if len(e.Card.Client) == 0 {
		return fmt.Sprintf("lockpick audit --lock %s --driver %s --only %s", e.Name, e.Card.Driver, situation)
	}
	return fmt.Sprintf("lockpick audit --client %s --only %s", e.Name, situation)
}
