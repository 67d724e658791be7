package judge_test

import (
	"testing"

	"lockpick/campaign/judge"
	"lockpick/checker"
)

// TestSinceTheLastRun: what is new, what is gone, what is still there, and what is neither violated nor shown to hold.
func TestSinceTheLastRun(t *testing.T) {
	result := func(run string, verdicts ...checker.Verdict) *judge.Result {
		r := &judge.Result{Run: run}
		for i, p := range []checker.Property{checker.UniqueTokens, checker.MutualExclusion, checker.BeliefExclusion, checker.NoStaleWrite} {
			if verdicts[i] != "" {
				r.Verdicts = append(r.Verdicts, checker.Result{Property: p, Verdict: verdicts[i]})
			}
		}
		return r
	}
	then := result("then", checker.Violated, checker.Violated, checker.Holds, checker.Violated)
	for want, now := range map[string]*judge.Result{
		"then: gone: L1 unique tokens; still violated: L2 mutual exclusion, L4 no stale write":                                                          result("now", checker.Holds, checker.Violated, checker.Holds, checker.Violated),
		"then: new: L3 one client at a time in the critical section; gone: L2 mutual exclusion; not shown to hold: L1 unique tokens, L4 no stale write": result("now", checker.Invalid, checker.Holds, checker.Violated, ""),
	} {
		if got := judge.SinceRun(now, then).String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := judge.SinceRun(result("b", "", checker.Holds, "", ""), result("a", "", checker.Holds, "", "")).String(); got != "a: nothing violated in either" {
		t.Error(got)
	}
}
