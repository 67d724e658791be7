package search

import (
	"testing"

	"lockpick/checker"
)

// TestWhatAddsToAProof: a schedule adds its evidence if it is only too short, and nothing if a
// fault did nothing in it, or if it lacks one sort of evidence altogether.
func TestWhatAddsToAProof(t *testing.T) {
	row := func(got, need int) checker.Evidence {
		return checker.Evidence{What: "meetings", Got: got, Need: need, Help: "wait"}
	}
	under := func(got int) checker.Evidence {
		return checker.Evidence{What: "meetings under faults", Got: got, Need: 3}
	}
	result := func(v checker.Verdict, rows ...checker.Evidence) *checker.Result {
		return &checker.Result{Verdict: v, Why: "told", Evidence: rows}
	}
	lacking := func(of int, rows ...checker.Evidence) *checker.Result {
		r := result(checker.Invalid, rows...)
		r.Short = &r.Evidence[of]
		return r
	}
	var all Proof
	for _, c := range []struct {
		name string
		r    *checker.Result
		adds bool
	}{
		{"it holds", result(checker.Holds, row(12, 10), under(3)), true},
		{"too short", lacking(0, row(2, 10), under(1)), true},
		{"too few under faults", lacking(1, row(11, 10), under(1)), true},
		{"none under faults", lacking(1, row(11, 10), under(0)), false},
		{"a fault that did nothing", result(checker.Invalid, row(11, 10), under(9)), false},
		{"undecided", result(checker.Unknown, row(11, 10), under(9)), false},
		{"without evidence", result(checker.Holds), false},
	} {
		before := all.Schedules
		all.Add(EvidenceOf(c.r))
		if added := all.Schedules > before; added != c.adds {
			t.Errorf("%s: added %v, want %v", c.name, added, c.adds)
		}
	}
	if got := all.Summary(); got != "25 meetings, 5 meetings under faults" || all.Schedules != 3 || all.Missing() != nil {
		t.Errorf("%d schedules have %s", all.Schedules, got)
	}
	var none Proof
	if none.Missing() == nil {
		t.Error("nothing lacks nothing")
	}
	short := Proof{Evidence: []checker.Evidence{row(9, 10)}}
	if got := short.Missing().Needs(); got != "needs 10 meetings, got 9: wait" {
		t.Error(got)
	}
}
