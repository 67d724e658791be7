package term

import "lockpick/checker"

// Colors adds ANSI colours to text. If false, it returns text unchanged.
type Colors bool

// With adds the colours of an ANSI code, such as "1;31" for bold red.
func (on Colors) With(code, s string) string {
	if !on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold returns text in bold letters.
func (on Colors) Bold(s string) string { return on.With("1", s) }

// Faint returns text in a faint colour.
func (on Colors) Faint(s string) string { return on.With("2", s) }

// Verdict returns text in the colour of a verdict.
func (on Colors) Verdict(v checker.Verdict, s string) string {
	code := map[checker.Verdict]string{checker.Violated: "1;31", checker.Holds: "1;32", checker.Unknown: "1;33", checker.Invalid: "1;35"}[v]
	return on.With(code, s)
}
