package reports

import "lockpick/checker"

// colors adds ANSI colours to text. If false, it returns text unchanged.
type colors bool

func (on colors) with(code, s string) string {
	if !on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (on colors) bold(s string) string  { return on.with("1", s) }
func (on colors) faint(s string) string { return on.with("2", s) }

func (on colors) verdict(v checker.Verdict, s string) string {
	code := map[checker.Verdict]string{checker.Violated: "1;31", checker.Holds: "1;32", checker.Unknown: "1;33", checker.Invalid: "1;35"}[v]
	return on.with(code, s)
}
