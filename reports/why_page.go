package reports

import (
	"fmt"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search/reduce"
)

// whyCurve is the probability of a violation over a run; the page draws it above the timeline.
type whyCurve struct {
	ViewBox string // x: µs of the run, as in the overview; y: percent from the top
	Line    string // SVG path
	Area    string
	Decided string // SVG path at the time of the decision; empty: no moment decided it
	Summary string
	Says    []string
	Fewest  []string
	Label   string
}

// curveOf draws the probability of a violation in a run that ends at end.
func curveOf(r *reduce.WhyResult, end time.Duration) *whyCurve {
	// The overview has the same margins (page/view.js).
	margin := max(float64(end.Microseconds())*0.01, 1000)
	c := &whyCurve{
		ViewBox: fmt.Sprintf("%.0f -4 %.0f 108", -margin, float64(end.Microseconds())+2*margin),
		Summary: r.Violation.Summary, Says: whySays(r),
		Label: fmt.Sprintf("Probability that %s is violated by %s, over the time of the run", checker.TitleOf(r.Property), term.Instant(r.By)),
	}
	if r.Faults != nil {
		c.Fewest = fewestSays(r.Faults)
	}
	var line strings.Builder
	at, height := "", 0.0
	for i, p := range r.Points {
		at, height = fmt.Sprint(p.Time.Microseconds()), 100-100*p.Rate.Share
		if i == 0 {
			fmt.Fprintf(&line, "M0 %.1f", height)
		}
		fmt.Fprintf(&line, "L%s %.1f", at, height)
	}
	c.Line = line.String()
	c.Area = c.Line + fmt.Sprintf("L%s 100L0 100Z", at)
	if d := r.Decided; d != nil {
		c.Decided = fmt.Sprintf("M%d 0V100", d.End.Microseconds())
	}
	return c
}
