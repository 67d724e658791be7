package audit

import (
	"testing"

	"lockpick/checker"
	"lockpick/search"
)

// TestALaterRunOnRealMastersCounts: runs on real masters are made at the same time. If a later one has shown a violation, an earlier
// one that ends then, with enough evidence that the property holds, does not undo it. In the simulator it does: there the order
// of the schedules decides, so that the result does not depend on the number of workers.
func TestALaterRunOnRealMastersCounts(t *testing.T) {
	for real, want := range map[bool]Outcome{true: Broken, false: Safe} {
		situation := &Situation{Judges: []string{"L2"}}
		holds := &trial{results: []search.Judgement{{Property: checker.MutualExclusion.Name, Verdict: checker.Holds, Evidence: []checker.Evidence{{What: "leases", Got: 10, Need: 10}}}}}
		s := &series{of: situation, at: &Case{}, judges: []string{"L2"}, trials: []*trial{nil, judged(false, lostIn("by the lock", false, false)), nil}, stop: 2, real: real}
		s.decideWhereToStop()
		s.trials[0] = holds
		if s.decideWhereToStop(); !real {
			s.stop = 0 // the simulator tries all of them, unless one is violated
		}
		mine := (&audit{series: []*series{s}}).seriesOf(situation)
		if f, _ := find(situation, mine, checker.MutualExclusion.Name, true); f == nil || f.Outcome != want {
			t.Errorf("real masters %v: %+v, want %s", real, f, want)
		}
	}
}
