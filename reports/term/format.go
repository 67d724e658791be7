package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Span formats a duration with its unit, in short form: 2 s, 350 ms, 1.25 ms, 90 µs.
func Span(d time.Duration) string {
	trim := func(v float64, unit string) string {
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".") + " " + unit
	}
	switch abs := max(d, -d); {
	case d == 0:
		return "0 s"
	case abs >= time.Second:
		return trim(d.Seconds(), "s")
	case abs >= time.Millisecond:
		return trim(float64(d)/1e6, "ms")
	case abs >= time.Microsecond:
		return trim(float64(d)/1e3, "µs")
	default:
		return fmt.Sprintf("%d ns", int64(d))
	}
}

// Moment formats a time since the run began, in seconds to the millisecond.
func Moment(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// Instant is moment without the space, so that no line break can split it.
func Instant(d time.Duration) string { return strings.ReplaceAll(Moment(d), " ", "") }

// Count formats a number with thousands separators: 12,345.
func Count(n int) string {
	s := strconv.Itoa(max(n, -n))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n < 0 {
		s = "-" + s
	}
	return s
}

// Plural formats a number of things: 1 master, 5 masters.
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Printable makes text safe for a terminal. Names and errors come from servers and users, and a
// control character in them could move the cursor or hide a line. Line breaks and tabs become
// spaces, other control characters U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029':
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// PrintableLines makes text that somebody else wrote safe for a terminal, and keeps its line breaks. All control
// characters else become U+FFFD or spaces.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Markdown escapes the characters that have a meaning in Markdown or HTML.
func Markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`).Replace(Printable(s))
}

// Capitalize returns a sentence with a capital letter at its beginning.
func Capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
