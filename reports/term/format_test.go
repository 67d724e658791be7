package term

import (
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"

	"lockpick/internal/waittest"
)

func TestSpanHasTheUnitThatReadsBest(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 2 * time.Second: "2 s", 1250 * time.Millisecond: "1.25 s", 350 * time.Millisecond: "350 ms",
		90 * time.Microsecond: "90 µs", 12 * time.Nanosecond: "12 ns", -time.Second: "-1 s", 100 * time.Second: "100 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestCountKeepsThousandsApart(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestWrapOfHugeWords: the time to break a text is proportional to its length, also if it has no spaces, or characters
// that take no column. Otherwise this would take hours.
func TestWrapOfHugeWords(t *testing.T) {
	for _, word := range []string{"x", "\u0301", "語"} {
		text := strings.Repeat(word, 2<<20)
		waittest.Returns("the text is wrapped", func() {
			if lines := Lines(text, 80); strings.Join(lines, "") != text {
				t.Errorf("text was lost of %q…", word)
			}
		})
	}
}

// Wrapping loses no word, and no line is too wide.
func TestWrapFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zß語 ]{0,200}`).Draw(t, "text")
		width := rapid.IntRange(2, 60).Draw(t, "width")
		lines := Lines(text, width)
		for _, line := range lines {
			if twwidth.Width(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
