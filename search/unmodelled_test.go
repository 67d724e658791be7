package search

import (
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
)

// TestSchedulesWithACommandThatIsNotModelledProveNothing: none of them counts as one in which the lock holds.
func TestSchedulesWithACommandThatIsNotModelledProveNothing(t *testing.T) {
	if err := campaigntest.RegisterSending("sends-dump", "DUMP", "k"); err != nil {
		t.Fatal(err)
	}
	s := campaigntest.Simulated(func(s *scenario.Scenario) {
		s.Lock, s.Persistence, s.Faults = "sends-dump", "always", []string{"kill"}
	})
	x := mustExplore(t, ExploreOptions{Base: s, Schedules: 5, Properties: []string{"L2"}})
	if x.Verdict() != checker.Invalid || x.Schedules != 5 {
		t.Errorf("%s after %d schedules", x.Verdict(), x.Schedules)
	}
	const why = "not modelled: DUMP"
	for _, p := range x.Properties {
		if p.Conclusive != 0 || p.Lacking[why] != 5 {
			t.Errorf("%s: %d schedules count, and others lack %v; want 5 times %q", p.Name, p.Conclusive, p.Lacking, why)
		}
	}
}
