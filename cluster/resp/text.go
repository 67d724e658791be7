package resp

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// succeeded reports whether a reply means that the command succeeded. An array contains the results that
// failed.
func succeeded(r *Reply) bool {
	switch r.Type {
	case ':', '#':
		return r.Int > 0
	case '*', '~', '%':
		return !r.Null && len(r.Elems) == 0
	}
	return !r.Null && string(r.Text) != "0"
}

// lifetime parses a TTL; 0: it is not a TTL.
func lifetime(text string, u unit, now time.Time) time.Duration {
	n, err := number([]byte(text))
	if err != nil || n <= 0 {
		return 0
	}
	const years = 1 << 53 / int64(time.Millisecond) // in ms: beyond, a time.Duration would overflow
	switch u {
	case seconds:
		return time.Duration(min(n, years/1000)) * time.Second
	case atSeconds:
		return max(0, time.Unix(min(n, maxNumber/1000), 0).Sub(now))
	case atMilliseconds:
		return max(0, time.UnixMilli(n).Sub(now))
	}
	return time.Duration(min(n, years)) * time.Millisecond
}

// arg returns an argument, or "" if there are fewer.
func arg(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return args[i]
}

// maxPrinted limits the length of names and tokens in votes, in bytes.
const maxPrinted = 512

// Printable makes a key or a token, which may be any bytes, valid in a history.
func Printable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	if len(s) > maxPrinted {
		s = strings.ToValidUTF8(s[:maxPrinted], "")
	}
	return s
}
