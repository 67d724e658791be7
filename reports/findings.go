package reports

import (
	"bytes"
	"fmt"
	"io"
)

// Finding is something that was said about a lock in use, and what a test of it showed.
type Finding struct {
	Library   string // with its version
	Level     string // of what breaks, if it is true
	Said      string
	Confirmed bool
	Shows     string // the observation
	Date      string // when it was observed three times in a row
	Command   string // command that repeats it
}

// FindingsMarkdown writes findings as a Markdown page.
func FindingsMarkdown(w io.Writer, all []Finding) error {
	var out bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&out, format, args...) }
	p("# Findings in locks that are in use\n\n%s\n\n", findingsIntro)
	p("| library | level | what was said | outcome | last seen |\n|---|---|---|---|---|\n")
	for i, f := range all {
		outcome := "refuted"
		if f.Confirmed {
			outcome = "confirmed"
		}
		p("| [%s](#finding-%d) | %s | %s | %s | %s |\n", markdownText(f.Library), i+1, f.Level, markdownText(upperFirst(f.Said)), outcome, f.Date)
	}
	for i, f := range all {
		p("\n<a id=\"finding-%d\"></a>\n\n## %d. %s\n\n%s.\n\nSeen: %s.\n\n```text\n%s\n```\n", i+1, i+1, markdownText(f.Library), markdownText(upperFirst(f.Said)), markdownText(f.Shows), f.Command)
	}
	_, err := w.Write(out.Bytes())
	return err
}

const findingsIntro = "Each was seen three times in a row with the version that is named, on the day that is named; other versions may differ. The level says what breaks for somebody who relies on it ([levels](checking.md)). " +
	"The commands that begin with go run in a checkout of Lockpick, and need the library; the others need what `lockpick list clients` says. The locks as a whole are compared on the [scoreboard](scoreboard.md)."
