package reports

import (
	"testing"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
)

func TestTheHeadlineIsTheWorstVerdictAtTheLowestLevel(t *testing.T) {
	r := &judge.Result{Verdicts: []checker.Result{
		{Property: checker.DeadlockFree, Verdict: checker.Unknown},
		{Property: checker.NoStaleWrite, Verdict: checker.Violated, Why: "a stale write"},
		{Property: checker.MutualExclusion, Verdict: checker.Holds},
		{Property: checker.BeliefExclusion, Verdict: checker.Violated, Why: "two believed"},
	}}
	head := verdictOf(r)
	if head.Verdict != checker.Violated || head.Level != "L3" || head.Why != "two believed" || len(head.Also) != 1 || head.Also[0] != "L4" {
		t.Errorf("the headline is %+v", head)
	}
}

func TestTheHeadlineIsAboutMutualExclusionIfItMayBe(t *testing.T) {
	r := &judge.Result{Verdicts: []checker.Result{
		{Property: checker.KeyLifetime, Verdict: checker.Holds},
		{Property: checker.MutualExclusion, Verdict: checker.Holds, Why: "no holds overlapped"},
	}}
	if head := verdictOf(r); head.Level != "L2" || head.Why != "no holds overlapped" || len(head.Also) != 1 || head.Also[0] != "L1" {
		t.Errorf("the headline is %+v", head)
	}
}

func TestTheHeadlineIsAboutWhatWasAskedFor(t *testing.T) {
	r := &judge.Result{Properties: []string{"L4"}, Verdicts: []checker.Result{
		{Property: checker.MutualExclusion, Verdict: checker.Holds},
		{Property: checker.BeliefExclusion, Verdict: checker.Violated, Why: "two believed", Violations: []narrative.Violation{{Level: "L3", At: 1}}},
		{Property: checker.NoStaleWrite, Verdict: checker.Violated, Why: "a stale write", Violations: []narrative.Violation{{Level: "L4", At: 2}}},
	}}
	if head := verdictOf(r); head.Level != "L4" || head.Verdict != checker.Violated || len(head.Also) != 0 {
		t.Errorf("the headline is %+v", head)
	}
	if v := firstViolation(r); v.Level != "L4" {
		t.Errorf("explained is %+v", v)
	}
	r.Properties = []string{checker.MutualExclusion.Name}
	if head := verdictOf(r); head.Level != "L2" || head.Verdict != checker.Holds {
		t.Errorf("the headline is %+v", head)
	}
	r.Properties = []string{"L5"}
	if head := verdictOf(r); head.Verdict != checker.Unknown || head.Why != "nothing that was asked for was judged: L5" {
		t.Errorf("the headline is %+v", head)
	}
}

func TestNoVerdictsAreNotAVerdict(t *testing.T) {
	if head := verdictOf(&judge.Result{}); head.Verdict != checker.Unknown {
		t.Errorf("a run without verdicts is said to be %q", head.Verdict)
	}
}

func TestSentencesSurviveTheStore(t *testing.T) {
	// result.json does not hold what a property says: it is looked up again.
	r := &judge.Result{Verdicts: []checker.Result{{Property: checker.Property{Name: checker.MutualExclusion.Name, Level: "L2"}, Verdict: checker.Holds}}}
	for _, l := range levelsOf(&history.History{}, r) {
		if l.Says == "" {
			t.Errorf("%s says nothing", l.Property)
		}
		if (l.Verdict == "") != (l.Property != "mutual exclusion") {
			t.Errorf("%s is said to be %q", l.Property, l.Verdict)
		}
	}
}

func TestTheFirstViolationIsTheEarliestOfTheHeadlinesProperty(t *testing.T) {
	r := &judge.Result{Verdicts: []checker.Result{
		{Property: checker.BeliefExclusion, Verdict: checker.Violated, Violations: []narrative.Violation{{Level: "L3", At: 1}}},
		{Property: checker.MutualExclusion, Verdict: checker.Violated, Violations: []narrative.Violation{{Level: "L2", At: 9}, {Level: "L2", At: 5}}},
	}}
	if v := firstViolation(r); v.Level != "L2" || v.At != 5 {
		t.Errorf("explained is %+v", v)
	}
	all := listViolations(r)
	if len(all) != 3 || all[0].Level != "L3" || !all[1].First || all[2].First {
		t.Errorf("listed are %+v", all)
	}
}
