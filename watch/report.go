package watch

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"lockpick/internal/plural"
)

// width is the width of the report in columns.
const width = 80

// Print writes the report for a terminal.
func (r *Result) Print(w io.Writer) {
	p := &printer{w: w}
	errors, warnings := r.count()
	switch {
	case r.Locks == 0:
		p.wrap("", "NOTHING SEEN  no command behaved as a lock's")
	case errors+warnings == 0:
		p.wrap("", "NO FINDINGS  what was seen breaks no rule")
	default:
		p.wrap("", fmt.Sprintf("FINDINGS  rules broken: %d with errors, %d with warnings", errors, warnings))
	}
	seen := fmt.Sprintf("%s; ", round(r.Elapsed))
	if r.Connections > 0 {
		seen += fmt.Sprintf("%d connections, ", r.Connections)
	}
	p.wrap("  ", seen+fmt.Sprintf("%d commands, %d locks (keys), %d leases, %d refusals", r.Commands, r.Locks, r.Leases, r.Refused))
	if r.Candidates > 0 {
		p.wrap("  ", fmt.Sprintf("%d more keys were created on condition and neither extended nor released: they are not taken for locks, but for keys that keep an event from being handled twice (--only-keys PATTERN takes them for locks)", r.Candidates))
	}
	if r.Missed != (Missed{}) {
		p.wrap("  ", fmt.Sprintf("Missed: %d bytes in %d gaps, and %d connections that could not be followed. What they contained is not judged.", r.Missed.Bytes, r.Missed.Gaps, r.Missed.Connections))
	}
	for _, f := range r.Findings {
		fmt.Fprintln(w)
		p.wrap("", fmt.Sprintf("%s  %s (%s)", strings.ToUpper(string(f.Severity)), f.ID, plural.Times(f.Count)))
		p.wrap("  ", f.What)
		keys := strings.Join(f.Keys, ", ")
		if more := f.AllKeys - len(f.Keys); more > 0 {
			keys += fmt.Sprintf(" and %d more", more)
		}
		p.wrap("  ", "Keys: "+keys)
		for _, e := range f.Evidence {
			p.wrap("    ", e)
		}
		p.wrap("  ", "Instead: "+f.Fix)
		p.wrap("  ", fmt.Sprintf("Harm: claim %s, %s (lockpick claims --only %s)", f.Claim, f.Slug, f.Claim))
		p.wrap("  ", "Try it: "+f.Reenact)
	}
	if r.Leases > 0 {
		g := &r.Figures
		fmt.Fprintln(w, "\nWorkload")
		p.wrap("  ", fmt.Sprintf("%.1f leases per second on %d keys and %d masters; TTL %s (median); %.0f %% of the acquisitions were contended",
			g.AcquisitionsPerSecond, g.Keys, g.Masters, round(g.TTL), 100*g.ContendedShare))
		p.wrap("  ", "Holds: "+quantilesText(g.Hold)+"; replies to acquires: "+quantilesText(g.Latency))
	}
	for _, n := range r.Notes {
		p.wrap("", "Note: "+n)
	}
}

func (r *Result) count() (errors, warnings int) {
	for _, f := range r.Findings {
		if f.Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// Failed reports whether a finding is an error.
func (r *Result) Failed() bool {
	errors, _ := r.count()
	return errors > 0
}

func quantilesText(q Quantiles) string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", round(q.P50), round(q.P99), round(q.Max))
}

// round rounds a duration to about three digits.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// printer prints wrapped text.
type printer struct{ w io.Writer }

// wrap prints a paragraph. Later lines are indented by two more columns.
func (p *printer) wrap(indent, text string) {
	line, column, first := indent, utf8.RuneCountInString(indent), true
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		if !first && column+1+n > width {
			fmt.Fprintln(p.w, strings.TrimRight(line, " "))
			line, column, first = indent+"  ", utf8.RuneCountInString(indent)+2, true
		}
		if !first {
			line, column = line+" ", column+1
		}
		line, column, first = line+word, column+n, false
	}
	fmt.Fprintln(p.w, strings.TrimRight(line, " "))
}
