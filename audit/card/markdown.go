package card

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/checker"
	"lockpick/reports/term"
)

// Markdown writes the report card as a section of a Markdown page.
func Markdown(w io.Writer, r *audit.Result) error {
	var b bytes.Buffer
	levels := shownLevels(r)
	fmt.Fprintf(&b, "## %s\n\n**%s**: %s.\n\n", term.Markdown(fullName(r)), verdictWord(r), term.Markdown(summary(r)))
	fmt.Fprintf(&b, "| situation | %s | tried |\n|---|%s---:|\n", strings.Join(levels, " | "), strings.Repeat(":-:|", len(levels)))
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(&b, "| %s |", term.Markdown(row.Name))
		for _, c := range row.Cells {
			for _, l := range levels {
				if c.Level == l {
					fmt.Fprintf(&b, " %s |", outcomeMark[c.Outcome])
				}
			}
		}
		fmt.Fprintf(&b, " %s |\n", triedText(row))
	}
	fmt.Fprintf(&b, "\n%s. %s.\n", legend, levelKey(levels))
	for _, weak := range weaknesses(r) {
		row, f := weak.rows[0], weak.findings[0]
		fmt.Fprintf(&b, "\n### %s %s\n\nBroken in %s. %s: %s %s (%s).\n\n", weak.level, checker.TitleOf(weak.property), term.Plural(len(weak.rows), "situation"),
			term.Markdown(term.Capitalize(row.Name)), term.Markdown(row.Says), term.Markdown(f.Why), term.Markdown(foundWhen(r, f)))
		for _, step := range shortened(f.Reason) {
			fmt.Fprintf(&b, "%s%s\n", step.number, term.Markdown(step.text))
		}
		if len(f.Reason) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Replay: `%s`\n", strings.ReplaceAll(term.Printable(f.Command), "`", "'"))
		if also := weak.also(); also != "" {
			fmt.Fprintf(&b, "\nAlso: %s.\n", term.Markdown(also))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", term.Markdown(totals(r)+", "+r.Started.Format(time.DateOnly)+", Lockpick "+r.Versions["lockpick"]+"."))
	_, err := w.Write(b.Bytes())
	return err
}
