package checker

import (
	"strings"
	"testing"
	"time"

	"lockpick/history"
)

// TestNoFlagHelpsClientsOfOthers: evidence of logs and of reported tests that is too little comes with an advice, and that names
// no flag.
func TestNoFlagHelpsClientsOfOthers(t *testing.T) {
	for name, head := range map[string]history.Header{"logs": {Driver: history.Imported}, "tests": {Reported: true, Faults: []string{"kill"}}} {
		r := newRun(history.Pack(&history.History{Header: head}))
		var rows []Evidence
		for _, helps := range []Advice{MoreWork, MoreContention, MoreExtensions} {
			rows = append(rows, r.need("meetings", []time.Duration{1}, helps)...)
			rows = append(rows, r.count("meetings", 1, 2, helps)...)
		}
		for _, e := range rows {
			if e.Help == "" || strings.Contains(e.Help, "--") {
				t.Errorf("%s: %s", name, e.Needs())
			}
		}
	}
}

// TestRewordChangesOnlyAdvice: the reason has the same numbers in other words, and a result without an advice stays.
func TestRewordChangesOnlyAdvice(t *testing.T) {
	w := Wording{MoreContention: "wait", ExacterTimes: "or sit still"}
	r := Result{Verdict: Invalid, Evidence: []Evidence{{What: "meetings", Got: 12, Need: 10, Advice: MoreWork, Help: "work"}, {What: "talks", Got: 1, Need: 3, Advice: MoreContention, Help: "meet"}}}
	r.lack(&r.Evidence[1])
	if r.Why != "needs 3 talks, got 1: meet" {
		t.Error(r.Why)
	}
	got := r.Reword(w)
	if got.Why != "needs 3 talks, got 1: wait" || got.Short != &got.Evidence[1] || got.Short.Needs() != got.Why || got.Evidence[0].Help != "" || r.Evidence[1].Help != "meet" {
		t.Errorf("%+v", got)
	}
	if same := r.Reword(nil); same.Why != r.Why || same.Short != r.Short {
		t.Errorf("%+v", same)
	}
	r = Result{Verdict: Invalid, Why: "times are coarse, or --driver sim", lacks: lack{"times are coarse", ", ", ExacterTimes}}
	if got := r.Reword(w).Why; got != "times are coarse, or sit still" {
		t.Error(got)
	}
	if got := r.Reword(Wording{}).Why; got != "times are coarse" {
		t.Error(got)
	}
	if got := (Result{Verdict: Holds, Why: "no two met"}).Reword(w).Why; got != "no two met" {
		t.Error(got)
	}
}
