package reports

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"lockpick/reports/term"
)

// TestNoWordIsBrokenDownTo40Columns: a narrow report has the words of a wide one, and its
// lines fit, but for paths and commands, which can be copied only whole.
func TestNoWordIsBrokenDownTo40Columns(t *testing.T) {
	for name, p := range map[string]plan{"violated": violatedPlan(), "sound": soundPlan()} {
		h, r := synthesize(p)
		for _, verbose := range []bool{false, true} {
			report := func(width int) string {
				var b bytes.Buffer
				if err := Terminal(&b, h, r, term.Options{Width: width, Verbose: verbose}); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			known := map[string]bool{}
			for word := range strings.FieldsSeq(strings.ToLower(report(400))) {
				known[word] = true
			}
			for width := 40; width <= 120; width++ {
				for line := range strings.Lines(report(width)) {
					for word := range strings.FieldsSeq(strings.ToLower(line)) {
						if !known[word] && strings.Trim(word, "─") != "" {
							t.Errorf("%s, %d columns: %q is not a word of the wide report, in %q", name, width, word, line)
						}
					}
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && !strings.Contains(line, "store/") && !strings.Contains(line, "lockpick ") {
						t.Errorf("%s, %d columns: a line has %d: %q", name, width, n, line)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}
