package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search/reduce"
)

// Why writes the probability of a violation over the time of a run, and the moment that decided it.
func Why(w io.Writer, r *reduce.WhyResult, opt term.Options) error {
	t := newTerminal(opt)
	for _, line := range term.Lines(term.Printable(r.Violation.Summary), t.Width) {
		t.WriteString(t.Colors.Bold(line) + "\n")
	}
	for _, line := range whySays(r) {
		t.Text("", line)
	}
	t.Title(fmt.Sprintf("Probability that %s is violated by %s", checker.TitleOf(r.Property), term.Instant(r.By)))
	shown := ""
	for _, p := range r.Points {
		if same := fmt.Sprint(term.Instant(p.Time), p.Rate.Share); same == shown {
			continue
		} else {
			shown = same
		}
		const at, percent = 10, 7
		room := max(t.Width-at-percent-1, 10)
		full := int(math.Round(p.Rate.Share * float64(room)))
		fmt.Fprintf(t, "%9s %5s  %s\n", term.Instant(p.Time), fmt.Sprintf("%.0f %%", 100*p.Rate.Share), strings.Repeat("█", full))
	}
	t.WriteByte('\n')
	t.Text("", fmt.Sprintf("Each line: %s that went as this one up to then, and by chance from there on.", term.Plural(r.Branches, "run")))
	if r.Faults != nil {
		t.Title("The fewest faults that violate it")
		for _, line := range fewestSays(r.Faults) {
			t.Text("  ", line)
		}
	}
	return t.Flush(w)
}

// whySays says when the violation was decided, and by which events.
func whySays(r *reduce.WhyResult) (lines []string) {
	d := r.Decided
	if d == nil {
		first := r.Points[0].Rate.Share
		return []string{fmt.Sprintf("No single moment decided it: the probability is %.0f %% at the beginning, and rises nowhere by more than chance explains.", 100*first)}
	}
	when := fmt.Sprintf("between %s and %s", term.Instant(d.From.Time), term.Instant(d.End))
	if term.Instant(d.From.Time) == term.Instant(d.End) {
		when = "at " + term.Instant(d.End)
	}
	lines = append(lines, fmt.Sprintf("It was decided %s, where its probability rose from %.0f %% to %.0f %%.", when, 100*d.From.Rate.Share, 100*d.To.Rate.Share))
	for _, e := range d.Events {
		lines = append(lines, fmt.Sprintf("At %s %s.", term.Instant(e.At), e.Text))
	}
	if len(d.Lines) > 0 {
		from, to := d.Lines[0], d.Lines[len(d.Lines)-1]
		if from == to {
			lines = append(lines, fmt.Sprintf("The history has that in line %d.", from))
		} else {
			lines = append(lines, fmt.Sprintf("The history has that in lines %d to %d.", from, to))
		}
	}
	if r.Certain > 0 {
		lines = append(lines, fmt.Sprintf("From %s on it was as good as inevitable.", term.Instant(r.Certain)))
	}
	return lines
}

// fewestSays names the smallest set of faults that violates the property.
func fewestSays(f *reduce.WhyFaults) (lines []string) {
	if f.Note != "" {
		return []string{"none were found: " + f.Note}
	}
	share := fmt.Sprintf("it is violated with %d of %d seeds", f.Rate, f.Seeds)
	if len(f.Steps) == 0 {
		return []string{fmt.Sprintf("none: without any of the %s %s.", term.Plural(f.Of, "fault"), share)}
	}
	enough, without := "these are enough, if they strike like that", "without any one of them"
	if len(f.Steps) == 1 {
		enough, without = "this one is enough, if it strikes like that", "without it"
	}
	text := fmt.Sprintf("Of the %s of the run %s: %s", term.Plural(f.Of, "fault"), enough, share)
	switch {
	case f.Minimal:
		text += "; " + without + " with none"
	case f.Rarely:
		text += "; " + without + " with fewer"
	default:
		text += "; the time was over before each was seen to be necessary"
	}
	return append(slices.Clone(f.Steps), text+".")
}
