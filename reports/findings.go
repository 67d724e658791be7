package reports

import (
	"bytes"
	"fmt"
	"io"

	"lockpick/clients"
	"lockpick/reports/term"
)

// FindingsMarkdown writes what was found in locks that are in use as a Markdown page.
func FindingsMarkdown(w io.Writer) error {
	var out bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&out, format, args...) }
	p("# Findings in locks that are in use\n\n%s\n\n", findingsIntro)
	p("| library | level | what was said | outcome | last seen |\n|---|---|---|---|---|\n")
	for i, f := range clients.Findings {
		outcome := "refuted"
		if f.Confirmed {
			outcome = "confirmed"
		}
		p("| [%s](#finding-%d) | %s | %s | %s | %s |\n", term.Markdown(f.Library+" "+f.Version), i+1, f.Level, term.Markdown(term.Capitalize(f.Said)), outcome, f.Date)
	}
	for i, f := range clients.Findings {
		p("\n<a id=\"finding-%d\"></a>\n\n## %d. %s\n\n%s.\n\nSeen: %s.\n\n```text\n%s\n```\n", i+1, i+1, term.Markdown(f.Library+" "+f.Version), term.Markdown(term.Capitalize(f.Said)), term.Markdown(f.Shows), f.Command())
	}
	_, err := w.Write(out.Bytes())
	return err
}

const findingsIntro = "Each was seen three times in a row with the version that is named, on the day that is named; other versions may differ. The level says what breaks for somebody who relies on it ([levels](checking.md)). " +
	"The commands that begin with go run in a checkout of Lockpick, and need the library; a run or an audit needs what `lockpick list clients` or [services.md](services.md) says. The locks as a whole are compared on the [scoreboard](scoreboard.md)."
