package reports

import (
	"fmt"
	"strings"

	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search/reduce"
)

// whyCurve is the probability of a violation over a run; the page draws it above the timeline.
type whyCurve struct {
	ViewBox string // x: µs of the run, from its beginning to the violation; y: percent from the top
	Line    string // SVG path
	Area    string
	Decided string // SVG path at the time of the decision; empty: no moment decided it
	By      string // when the violation was there
	Summary string
	Says    []string
	Fewest  []string
	Label   string
}

// curveOf draws the probability of a violation from the beginning of the run up to the violation.
func curveOf(r *reduce.WhyResult) *whyCurve {
	width := max(float64(r.By.Microseconds()), 1000)
	c := &whyCurve{
		ViewBox: fmt.Sprintf("%.0f -4 %.0f 108", -0.01*width, 1.02*width),
		By:      term.Instant(r.By),
		Summary: r.Violation.Summary, Says: whySays(r),
		Label: fmt.Sprintf("Probability that %s is violated by %s, over the time before", checker.TitleOf(r.Property), term.Instant(r.By)),
	}
	if r.Faults != nil {
		c.Fewest = fewestSays(r.Faults)
	}
	var line strings.Builder
	at, height := "", 0.0
	for i, p := range r.Points {
		if p.Time > r.By {
			break
		}
		at, height = fmt.Sprint(p.Time.Microseconds()), 100-100*p.Rate.Share
		if i == 0 {
			fmt.Fprintf(&line, "M0 %.1f", height)
		}
		fmt.Fprintf(&line, "L%s %.1f", at, height)
	}
	at = fmt.Sprint(r.By.Microseconds())
	fmt.Fprintf(&line, "L%s %.1f", at, height)
	c.Line = line.String()
	c.Area = c.Line + fmt.Sprintf("L%s 100L0 100Z", at)
	if d := r.Decided; d != nil {
		c.Decided = fmt.Sprintf("M%d 0V100", d.End.Microseconds())
	}
	return c
}
