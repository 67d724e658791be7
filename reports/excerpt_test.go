package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"lockpick/history"
)

// TestPageOfAnExcerpt: of an excerpt the page has the lines that prove violations, by their indices in the
// whole history, and leaves out what would count only the excerpt.
func TestPageOfAnExcerpt(t *testing.T) {
	h, r := synthesize(violatedPlan())
	some := *h
	some.Whole = len(h.Ops)
	violations := listViolations(r)
	proves := violations[0].Ops
	some.Ops = slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool {
		return op.Index%3 == 0 && !slices.Contains(proves, op.Index)
	})
	want := evidenceOf(h, &violations[0].Violation)
	if got := evidenceOf(&some, &violations[0].Violation); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the evidence is %+v, want %+v", got, want)
	}
	lines, err := linesOf(&some, "run", violations[:1])
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range proves {
		at := slices.Index(lines.Index, index)
		if at < 0 {
			t.Fatalf("line %d is not on the page: %v", index, lines.Index)
		}
		if at < linesAround/2 || at > len(lines.Index)-linesAround/2 {
			t.Errorf("line %d is the %dth of %d lines: those around it are missing", index, at, len(lines.Index))
		}
	}
	if slices.ContainsFunc(lines.Index, func(i int) bool { _, found := some.At(i); return !found }) {
		t.Errorf("the page has lines that the excerpt has not: %v", lines.Index)
	}
	const totals = "Clients and masters in numbers"
	for _, c := range []struct {
		h    *history.History
		want bool
	}{{h, true}, {&some, false}} {
		var page bytes.Buffer
		if err := HTML(&page, c.h, r, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), totals); got != c.want {
			t.Errorf("of %d lines, of %d in all: that the page has %q is %v", len(c.h.Ops), c.h.Whole, totals, got)
		}
	}
}
