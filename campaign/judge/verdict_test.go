package judge

import (
	"strings"
	"testing"

	"lockpick/checker"
)

// TestConclude: the most severe verdict on what was asked for decides.
func TestConclude(t *testing.T) {
	result := func(cut string, verdicts ...checker.Result) *Result {
		return &Result{Verdicts: verdicts, CutShort: cut, Untested: map[string]string{
			checker.FencedWrites.Name: "no fencing tokens", checker.Extension.Name: "no lease was extended",
		}}
	}
	is := func(p checker.Property, v checker.Verdict) checker.Result {
		return checker.Result{Property: p, Verdict: v, Why: "of " + p.Name}
	}
	l2 := is(checker.MutualExclusion, checker.Holds)
	for _, c := range []struct {
		name  string
		of    *Result
		asked []string
		want  checker.Verdict
		says  string
	}{
		{"all hold", result("", l2, is(checker.BeliefExclusion, checker.Holds)), nil, checker.Holds, ""},
		{"nothing was judged", result(""), nil, NotTested, "mutual exclusion was not judged"},
		{"asked for and not tested", result("", l2), []string{"L2", "L5"}, NotTested, "L5 was asked for and not tested: no fencing tokens"},
		{"asked for by its name", result("", l2), []string{"extension"}, NotTested, "extension was asked for and not tested: no lease was extended"},
		{"not asked for and not tested", result("", l2), []string{"L2"}, checker.Holds, ""},
		{"not asked for and violated", result("", l2, is(checker.BeliefExclusion, checker.Violated)), []string{"L2"}, checker.Holds, ""},
		{"invalid outweighs not tested", result("", is(checker.MutualExclusion, checker.Invalid)), []string{"L5", "L2"}, checker.Invalid, "of mutual-exclusion"},
		{"unknown outweighs invalid", result("", is(checker.MutualExclusion, checker.Unknown), is(checker.BeliefExclusion, checker.Invalid)), []string{"L2", "L3"}, checker.Unknown, "of mutual-exclusion"},
		{"violated outweighs all", result("interrupted", is(checker.MutualExclusion, checker.Violated), is(checker.BeliefExclusion, checker.Unknown)), []string{"L2", "L3", "L5"}, checker.Violated, "of mutual-exclusion"},
		{"cut short and nothing found", result("interrupted", l2), nil, checker.Unknown, "interrupted"},
		{"cut short and invalid", result("interrupted", is(checker.MutualExclusion, checker.Invalid)), nil, checker.Unknown, "interrupted"},
	} {
		got := c.of.Conclude(c.asked)
		if got.Verdict != c.want || !strings.Contains(got.Why, c.says) || (got.Why == "") != (c.says == "") {
			t.Errorf("%s: %+v, want %s with %q", c.name, got, c.want, c.says)
		}
	}
}
