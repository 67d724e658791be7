package web

import (
	"fmt"
	"html"
	"html/template"

	"lockpick/checker"
)

// VerdictSign returns a sign for a verdict, so that readers need not tell colours apart.
func VerdictSign(v checker.Verdict) string {
	return map[checker.Verdict]string{checker.Violated: "✕", checker.Holds: "✓", checker.Unknown: "?", checker.Invalid: "–"}[v]
}

// LevelMark writes the name of a level with its title as a tooltip.
func LevelMark(level string) template.HTML {
	if level == "" {
		return ""
	}
	title := ""
	if text := checker.LevelNamed(level); text.Title != "" {
		title = fmt.Sprintf(` title="%s: %s"`, html.EscapeString(text.Title), html.EscapeString(text.Says))
	}
	return template.HTML(fmt.Sprintf(`<abbr class="level"%s>%s</abbr>`, title, html.EscapeString(level)))
}
