package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// Terminal writes the report of a run for a terminal: the verdict first, then the reason of the
// first violation, the configuration, all verdicts, counts and faults, and at the end where to look
// closer.
func Terminal(w io.Writer, h *history.History, r *judge.Result, opt term.Options) error {
	t := newTerminal(opt)
	t.headline(headlineOf(h, r))
	t.first(firstViolation(r))
	t.causes(r, firstViolation(r))
	rules := t.Section(judge.HintsTitle, judge.HintsMean)
	for _, h := range r.Hints {
		rules.Text("  "+h.Label()+" ", h.String())
	}
	t.possible(r)
	t.facts(h, r)
	t.levels(levelsOf(h, r), opt.Verbose)
	t.counts(r)
	if h.Header.Driver != history.Imported {
		t.faults(history.Faults(h.Ops))
	}
	t.where(r)
	return t.Flush(w)
}

// headline writes the headline, on one line if it fits. Only the verdict is coloured.
func (t *terminal) headline(head headline) {
	word := strings.ToUpper(head.Verdict.Word())
	text := head.Why
	if head.Level != "" {
		text = head.Level + " " + head.Property + ": " + text
	}
	lines := term.Lines(term.Printable(text), t.Width-len(word)-2)
	colored := t.Colors.Verdict(head.Verdict, word)
	if head.Inherent {
		colored = t.Colors.With("1;33", word)
	}
	fmt.Fprintf(t, "%s  %s\n", colored, t.Colors.Bold(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(t, "%*s%s\n", len(word)+2, "", t.Colors.Bold(line))
	}
	if len(head.Also) > 0 {
		t.Text(strings.Repeat(" ", len(word)+2), fmt.Sprintf("Also %s: %s.", head.Verdict.Word(), strings.Join(head.Also, ", ")))
	}
	if head.Meaning != "" {
		t.Text(strings.Repeat(" ", len(word)+2), head.Meaning)
	}
}

func (t *terminal) facts(h *history.History, r *judge.Result) {
	t.WriteByte('\n')
	t.Text("", r.Name+": "+strings.Join(texts(factsOf(h, r)), "; "))
	for _, note := range r.Notes {
		t.Text("Note: ", note)
	}
	if h.Torn {
		t.Text("Note: ", "the last line of the history was cut short: the run was ended while it wrote.")
	}
}

// terminal is the report of a run, or of what was made of one, for a terminal.
type terminal struct{ *term.Writer }

func newTerminal(opt term.Options) *terminal { return &terminal{term.New(opt)} }

// widestProperty is the width of the column of properties.
const widestProperty = 20

// levels writes the table of verdicts, and below it once the text that all rows would repeat.
func (t *terminal) levels(levels []level, verbose bool) {
	g := term.Grid{Header: []string{"Level", "Property", "Verdict", "Cases", "In faults", "Finding"}, Wide: 5, Right: []int{3, 4}}
	var untested []string
	faults, cases, underFaults := "", false, false
	for _, l := range levels {
		verdict, finding := t.Colors.Verdict(l.Verdict, term.Printable(l.Verdict.Word())), l.Why
		if l.Verdict == "" {
			if !verbose {
				untested = append(untested, strings.TrimSpace(l.Level+" "+l.Property))
				continue
			}
			verdict = t.Colors.Faint("not tested")
		}
		if l.Finding != "" && !verbose {
			finding = l.Finding
		}
		if faults == "" {
			faults = l.Faults
		}
		row := []string{term.Printable(l.Level), strings.Join(term.Lines(term.Printable(l.Property), widestProperty), "\n"), verdict, "", "", term.Printable(finding)}
		if len(l.Evidence) > 0 {
			row[3], cases = term.Count(l.Evidence[0].Got), true
		}
		if len(l.Evidence) > 1 && l.Evidence[1].UnderFaults {
			row[4], underFaults = term.Count(l.Evidence[1].Got), true
		}
		g.Rows = append(g.Rows, row)
	}
	g.DropEmpty(4, underFaults)
	g.DropEmpty(3, cases)
	t.Title("Verdicts")
	if len(g.Rows) > 0 {
		t.Table(&g)
	}
	if len(untested) > 0 || cases || faults != "" {
		t.WriteByte('\n')
	}
	t.legend(cases, underFaults, faults)
	if len(untested) > 0 {
		t.Text("", "Not tested: "+term.Printable(strings.Join(untested, ", "))+"; -v says why.")
	}
}

// legend explains the columns of the table of verdicts, and names the faults that took effect.
func (t *terminal) legend(cases, underFaults bool, faults string) {
	var said []string
	if cases {
		said = append(said, "Cases: what the verdict rests on (-v says what they are).")
	}
	if underFaults {
		said = append(said, "In faults: those of them while a fault was in force or within a TTL after it.")
	}
	if faults != "" {
		said = append(said, strings.ToUpper(faults[:1])+faults[1:]+".")
	}
	if len(said) > 0 {
		t.Text("", strings.Join(said, " "))
	}
}

func (t *terminal) counts(r *judge.Result) {
	t.Title("Counts")
	t.Text("", strings.Join(texts(countsOf(r)), "; "))
}

// faults writes a table of the faults by kind: how many, and one example of the evidence for an
// effect.
func (t *terminal) faults(faults []*history.Fault) {
	t.Title("Faults")
	if len(faults) == 0 {
		t.Text("", "None was injected.")
		return
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
				k.why = briefly(f.Skipped)
			}
			continue
		case f.TookEffect:
			k.bit++
		}
		k.installed++
		if p := proof(f); p != "" && (k.proof == "" || f.TookEffect && k.bit == 1) {
			k.proof = briefly(fmt.Sprintf("fault %d: %s", f.ID, p))
		}
	}
	g := term.Grid{Header: []string{"Kind", "Installed", "Effective", "Skipped", "For example"}, Wide: 4, Right: []int{1, 2, 3}}
	for _, name := range order {
		k := kinds[name]
		example := k.proof
		if k.why != "" {
			example = strings.TrimPrefix(example+"; skipped: "+k.why, "; ")
		}
		g.Rows = append(g.Rows, []string{term.Printable(name), term.Count(k.installed), term.Count(k.bit), term.Count(k.skipped), term.Printable(example)})
	}
	t.Table(&g)
}

// longestExample limits the bytes of an example: a fault on many keys would fill the screen.
const longestExample = 240

// briefly cuts a text that is too long for an example, between two words.
func briefly(text string) string {
	if len(text) <= longestExample {
		return text
	}
	cut := text[:longestExample]
	return strings.ToValidUTF8(cut[:max(strings.LastIndexByte(cut, ' '), longestExample/2)], "") + " …"
}

func (t *terminal) first(v *narrative.Violation) {
	if v == nil {
		return
	}
	t.Title("First violation")
	t.Text("  ", v.Summary)
	for i, step := range v.Steps() {
		t.Text(fmt.Sprintf("  %d. ", i+1), step)
	}
}

// maxPossible limits the possible violations that the terminal lists.
const maxPossible = 5

// possible lists the overlaps that are violations if all times in the log are exact.
func (t *terminal) possible(r *judge.Result) {
	if r.PossibleCount == 0 {
		return
	}
	t.Title("Possible violations")
	for _, p := range r.Possible[:min(len(r.Possible), maxPossible)] {
		t.Text("  ", p.String())
	}
	if more := r.PossibleCount - maxPossible; more > 0 {
		t.Text("  ", fmt.Sprintf("There are %s more.", term.Count(more)))
	}
}

// where lists the paths and commands for a closer look. Each stays on one line however long it is,
// so that it can be copied.
func (t *terminal) where(r *judge.Result) {
	places := []fact{{"report", r.Report}, {"history", r.History}, {"run again", r.Command}}
	if r.History != "" { // by path, because the store may not be the default one
		places = slices.Insert(places, 2, fact{"check again", judge.Program + " check " + r.History})
	}
	if r.History != "" && firstViolation(r) != nil {
		places = slices.Insert(places, 1, fact{"story", judge.Program + " show " + r.History + " --story"})
	}
	places = slices.DeleteFunc(places, func(f fact) bool { return f.Value == "" })
	if len(places) > 0 {
		t.Title("Where to look")
	}
	for _, f := range places {
		fmt.Fprintf(t, "  %-12s %s\n", f.Name, term.Printable(f.Value))
	}
}
