package doctest

import (
	"slices"
	"strings"
	"testing"
)

// quotes says whether the lines between those that stand for others are found in the output,
// in order, and the output ends as the quotation does.
func quotes(quoted, out []string) bool {
	for len(quoted) > 0 {
		n := slices.IndexFunc(quoted, func(line string) bool { return strings.TrimSpace(line) == "…" })
		part := quoted
		if n >= 0 {
			part = quoted[:n]
		}
		at := 0
		for at+len(part) <= len(out) && !slices.Equal(out[at:at+len(part)], part) {
			at++
		}
		if at+len(part) > len(out) {
			return false
		}
		out = out[at+len(part):]
		if n < 0 {
			return len(out) == 0
		}
		quoted = quoted[n+1:]
	}
	return true
}

// TestQuotes shows what a quotation with lines left out is compared with.
func TestQuotes(t *testing.T) {
	out := []string{"a", "b", "c", "d"}
	for quoted, want := range map[string]bool{"a b … d": true, "a …": true, "… d": true, "b …": true, "a … c": false, "a x … d": false, "a b c d": true, "a b c": false} {
		if got := quotes(strings.Fields(quoted), out); got != want {
			t.Errorf("%q: %v, want %v", quoted, got, want)
		}
	}
}
