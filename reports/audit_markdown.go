package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"lockpick/audit"
	"lockpick/checker"
)

// AuditMarkdown writes the report card as a section of a Markdown page.
func AuditMarkdown(w io.Writer, r *audit.Result) error {
	var b bytes.Buffer
	levels := auditLevels(r)
	fmt.Fprintf(&b, "## %s\n\n**%s**: %s.\n\n", markdownText(auditName(r)), auditWord(r), markdownText(auditSays(r)))
	fmt.Fprintf(&b, "| situation | %s | tried |\n|---|%s---:|\n", strings.Join(levels, " | "), strings.Repeat(":-:|", len(levels)))
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(&b, "| %s |", markdownText(row.Name))
		for _, c := range row.Cells {
			for _, l := range levels {
				if c.Level == l {
					fmt.Fprintf(&b, " %s |", auditMark[c.Outcome])
				}
			}
		}
		fmt.Fprintf(&b, " %s |\n", auditTried(row))
	}
	fmt.Fprintf(&b, "\n%s. %s.\n", auditLegend, levelKey(levels))
	for _, weak := range weaknesses(r) {
		row, f := weak.rows[0], weak.findings[0]
		fmt.Fprintf(&b, "\n### %s %s\n\nBroken in %s. %s: %s %s (%s).\n\n", weak.level, checker.TitleOf(weak.property), plural(len(weak.rows), "situation"),
			markdownText(upperFirst(row.Name)), markdownText(row.Says), markdownText(f.Why), markdownText(foundWhen(r, f)))
		for _, step := range shortened(f.Reason) {
			fmt.Fprintf(&b, "%s%s\n", step.number, markdownText(step.text))
		}
		if len(f.Reason) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Replay: `%s`\n", strings.ReplaceAll(printable(f.Command), "`", "'"))
		if also := weak.also(); also != "" {
			fmt.Fprintf(&b, "\nAlso: %s.\n", markdownText(also))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", markdownText(auditLine(r)+", "+r.Started.Format(time.DateOnly)+", Lockpick "+r.Versions["lockpick"]+"."))
	_, err := w.Write(b.Bytes())
	return err
}
