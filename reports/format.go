package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// span formats a duration with its unit, in short form: 2 s, 350 ms, 1.25 ms, 90 µs.
func span(d time.Duration) string {
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

// moment formats a time since the run began, in seconds to the millisecond.
func moment(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// instant is moment without the space, so that no line break can split it.
func instant(d time.Duration) string { return strings.ReplaceAll(moment(d), " ", "") }

// count formats a number with thousands separators: 12,345.
func count(n int) string {
	s := strconv.Itoa(max(n, -n))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n < 0 {
		s = "-" + s
	}
	return s
}

// plural formats a number of things: 1 master, 5 masters.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return count(n) + " " + thing
}

// printable makes text safe for a terminal. Names and errors come from servers and users, and a
// control character in them could move the cursor or hide a line. Line breaks and tabs become
// spaces, other control characters U+FFFD.
func printable(s string) string {
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
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// markdownText escapes the characters that have a meaning in Markdown or HTML.
func markdownText(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`).Replace(printable(s))
}

// upperFirst returns a sentence with a capital letter at its beginning.
func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
