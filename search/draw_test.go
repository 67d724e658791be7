package search

import (
	"slices"
	"strings"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
	"lockpick/internal/racetest"
	"lockpick/nemesis"
)

// twoFaults is the scenario of docs/search.md whose conclusive schedules are counted.
func twoFaults() scenario.Scenario {
	return campaigntest.Simulated(func(s *scenario.Scenario) {
		s.Persistence, s.Faults, s.Properties = "always", []string{"kill", "partition"}, []string{checker.MutualExclusion.Level}
	}).WithRequirements()
}

// Schedules are drawn so that they have the evidence that a verdict needs.
func TestMostSchedulesAreConclusive(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	e, conclusive := ExploreOptions{Base: twoFaults()}, 0
	pool := campaign.NewPool()
	defer pool.Close()
	const schedules = 200
	for i := range schedules {
		x, err := e.try(t.Context(), pool, i)
		if err != nil {
			t.Fatal(err)
		}
		if v := x.result.ResultOf(checker.MutualExclusion); v != nil && v.Verdict == checker.Holds {
			conclusive++
		}
	}
	if 10*conclusive < 8*schedules {
		t.Errorf("%d of %d schedules are conclusive, fewer than 80 %%", conclusive, schedules)
	}
}

// A step on the holder of a lease, or on its masters, waits for a lease: without a holder it would be skipped.
func TestStepsOnTheHolderFollowAGrant(t *testing.T) {
	found := 0
	for i := range 500 {
		for _, step := range Schedule(twoFaults(), i).Schedule {
			if !slices.Contains(step.Masters, nemesis.Holders) && !slices.Contains(step.Clients, nemesis.Holder) {
				continue
			}
			found++
			if step.After == "" || strings.HasPrefix(step.After, "step ") || strings.Contains(step.After, " releases ") {
				t.Errorf("schedule %d: %v", i, step)
			}
		}
	}
	if found == 0 {
		t.Error("no step names the holder")
	}
}
