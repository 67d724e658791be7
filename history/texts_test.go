package history

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTextsAreNumberedAsTheyFirstOccur: the numbers are those that a map would give.
func TestTextsAreNumberedAsTheyFirstOccur(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x texts
		var all []string
		for _, text := range rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "texts") {
			known := slices.Index(all, text)
			if n := x.find(text); int(n) != known {
				t.Fatalf("find(%q) = %d, and it is %d", text, n, known)
			}
			if known < 0 {
				known = len(all)
				all = append(all, text)
			}
			if n := x.number(text); int(n) != known {
				t.Fatalf("number(%q) = %d, and it is %d", text, n, known)
			}
		}
		if !slices.Equal(x.all, all) {
			t.Fatalf("%q, and they are %q", x.all, all)
		}
	})
}
