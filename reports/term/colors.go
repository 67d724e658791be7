package term

import "lockpick/checker"

// Colors adds ANSI colours to text. If false, it returns text unchanged.
type Colors bool

func (on Colors) With(code, s string) string {
	if !on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (on Colors) Bold(s string) string  { return on.With("1", s) }
func (on Colors) Faint(s string) string { return on.With("2", s) }

func (on Colors) Verdict(v checker.Verdict, s string) string {
	code := map[checker.Verdict]string{checker.Violated: "1;31", checker.Holds: "1;32", checker.Unknown: "1;33", checker.Invalid: "1;35"}[v]
	return on.With(code, s)
}
