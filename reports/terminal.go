package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/history"
)

// TerminalOptions says what the terminal can show.
type TerminalOptions struct {
	Width int  // columns; 0: 80, and never less than 60
	Color bool // with ANSI escape sequences
}

// Terminal writes the report for people at a terminal: the verdict first, and
// at the end where to look closer.
func Terminal(w io.Writer, h *history.History, r *campaign.Result, opt TerminalOptions) error {
	t := newTerminal(opt)
	t.headline(headlineOf(r))
	t.facts(h, r)
	steps := []func() error{
		func() error { return t.levels(levelsOf(h, r)) },
		func() error { t.counts(r); return nil },
		func() error { return t.faults(history.Faults(h.Ops)) },
		func() error { t.first(firstViolation(r), found(r)); return nil },
		func() error { t.where(r); return nil },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("reports: lay out the terminal report: %w", err)
		}
	}
	return t.flush(w)
}

type terminal struct {
	out   bytes.Buffer
	width int
	ink   ink
}

func newTerminal(opt TerminalOptions) *terminal {
	return &terminal{width: max(cmp.Or(opt.Width, 80), 60), ink: ink(opt.Color)}
}

func (t *terminal) flush(w io.Writer) error {
	if _, err := w.Write(t.out.Bytes()); err != nil {
		return fmt.Errorf("reports: write the terminal report: %w", err)
	}
	return nil
}

// text writes text after an indent that later lines keep as spaces.
func (t *terminal) text(indent, text string) {
	for i, line := range wrap(printable(text), t.width-len(indent)) {
		if i > 0 {
			indent = strings.Repeat(" ", len(indent))
		}
		fmt.Fprintf(&t.out, "%s%s\n", indent, line)
	}
}

func (t *terminal) title(s string) { fmt.Fprintf(&t.out, "\n%s\n", t.ink.bold(s)) }

// headline keeps to one line where it fits; only its first words are coloured.
func (t *terminal) headline(head headline) {
	word := strings.ToUpper(verdictWord(head.Verdict))
	text := head.Why
	if head.Level != "" {
		text = head.Level + " " + head.Property + ": " + text
	}
	lines := wrap(printable(text), t.width-len(word)-2)
	fmt.Fprintf(&t.out, "%s  %s\n", t.ink.verdict(head.Verdict, word), t.ink.bold(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(&t.out, "%*s%s\n", len(word)+2, "", t.ink.bold(line))
	}
	if len(head.Also) > 0 {
		t.text(strings.Repeat(" ", len(word)+2), fmt.Sprintf("Also %s: %s.", verdictWord(head.Verdict), strings.Join(head.Also, ", ")))
	}
}

func (t *terminal) facts(h *history.History, r *campaign.Result) {
	var said []string
	for _, f := range factsOf(h, r) {
		said = append(said, f.Name+" "+f.Value)
	}
	t.out.WriteByte('\n')
	t.text("", r.Name+": "+strings.Join(said, "; "))
	for _, note := range r.Notes {
		t.text("Note: ", note)
	}
	if h.Torn {
		t.text("Note: ", "the last line of the history was cut short: the run was ended while it wrote.")
	}
}

func (t *terminal) levels(levels []level) error {
	g := grid{header: []string{"Level", "Property", "Verdict", "Why"}, wide: 3}
	for _, l := range levels {
		verdict := t.ink.verdict(l.Verdict, printable(verdictWord(l.Verdict)))
		if l.Verdict == "" {
			verdict = t.ink.faint("not tested")
		}
		g.rows = append(g.rows, []string{printable(l.Level), printable(l.Property), verdict, printable(l.Why)})
	}
	t.title("Verdicts")
	return g.write(&t.out, t.width)
}

func (t *terminal) counts(r *campaign.Result) {
	var said []string
	for _, f := range countsOf(r.Counts) {
		said = append(said, f.Name+" "+f.Value)
	}
	t.title("Counts")
	t.text("", strings.Join(said, "; "))
}

// faults gathers the faults by kind: how many, and one example of what shows
// that they did anything.
func (t *terminal) faults(faults []*history.Fault) error {
	t.title("Faults")
	if len(faults) == 0 {
		t.text("", "None was injected.")
		return nil
	}
	type kind struct {
		installed, bit, skipped int
		why, proof              string
	}
	var order []string
	kinds := map[string]*kind{}
	for _, f := range faults {
		k := kinds[f.Name]
		if k == nil {
			k = &kind{}
			kinds[f.Name] = k
			order = append(order, f.Name)
		}
		switch {
		case !f.Installed:
			k.skipped++
			if k.why == "" {
				k.why = f.Skipped
			}
			continue
		case f.Bit:
			k.bit++
		}
		k.installed++
		if p := proof(f); p != "" && (k.proof == "" || f.Bit && k.bit == 1) {
			k.proof = fmt.Sprintf("fault %d: %s", f.ID, p)
		}
	}
	g := grid{header: []string{"Kind", "Installed", "Effective", "Skipped", "For example"}, wide: 4, right: []int{1, 2, 3}}
	for _, name := range order {
		k := kinds[name]
		example := k.proof
		if k.why != "" {
			example = strings.TrimPrefix(example+"; skipped: "+k.why, "; ")
		}
		g.rows = append(g.rows, []string{printable(name), count(k.installed), count(k.bit), count(k.skipped), printable(example)})
	}
	return g.write(&t.out, t.width)
}

func (t *terminal) first(v *checker.Violation, found int) {
	if v == nil {
		return
	}
	t.title("First violation")
	t.text("  ", v.Summary)
	for i, step := range v.Steps() {
		t.text(fmt.Sprintf("  %d. ", i+1), step)
	}
	if found > 1 {
		t.text("  ", fmt.Sprintf("There are %s violations; the report shows them on a timeline.", count(found)))
	}
}

// where says where to read on. Paths and commands stay on one line however long
// they are, so that they can be copied.
func (t *terminal) where(r *campaign.Result) {
	places := []fact{{"report", r.Report}, {"history", r.History}, {"run again", r.Command}}
	if r.History != "" { // by its path: the store may be another than the default
		places = slices.Insert(places, 2, fact{"check again", "lockpick check " + r.History})
	}
	if r.History != "" && firstViolation(r) != nil {
		places = slices.Insert(places, 1, fact{"story", "lockpick report " + r.History + " --story"})
	}
	places = slices.DeleteFunc(places, func(f fact) bool { return f.Value == "" })
	if len(places) > 0 {
		t.title("Where to look")
	}
	for _, f := range places {
		fmt.Fprintf(&t.out, "  %-12s %s\n", f.Name, printable(f.Value))
	}
}
