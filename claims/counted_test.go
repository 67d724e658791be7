package claims

import (
	"testing"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/search"
)

// TestALaterRunOnRealMastersCounts: a violation that a later run showed is not undone by an earlier run that ends after it
// and has enough evidence that the property holds.
func TestALaterRunOnRealMastersCounts(t *testing.T) {
	name := checker.MutualExclusion.Name
	tried := func(j search.Judgement) *trial { return &trial{results: map[string]judgement{name: {Judgement: j}}} }
	s := &series{of: &Case{}, expect: []Expect{{Property: name, Verdict: checker.Holds}}, enough: 1, prove: 1, real: true, stop: 1, trials: []*trial{
		tried(search.Judgement{Verdict: checker.Holds, Evidence: []checker.Evidence{{What: "leases", Got: 10, Need: 10}}}),
		tried(search.Judgement{Verdict: checker.Violated, First: &narrative.Violation{Summary: "by the lock"}}),
	}}
	s.decideWhereToStop()
	if f, _ := s.find(&s.expect[0]); s.stop != 0 || f.Found != checker.Violated || f.Outcome != Unexpected {
		t.Errorf("it stops after %d: %+v", s.stop, f)
	}
}
