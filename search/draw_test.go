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
	"lockpick/internal/sampletest"
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
	one := twoFaults()
	one.Masters, one.Faults = 1, []string{"kill", "partition", "pause"}
	of := func(lock string) scenario.Scenario { // one that uses the first of five masters
		s := twoFaults()
		s.Lock = lock
		return s.WithRequirements()
	}
	for _, c := range []struct {
		base  scenario.Scenario
		least int // percent
	}{{twoFaults(), 90}, {one, 85}, {of("rw"), 75}, {of("semaphore"), 75}, {of("reentrant"), 85}} {
		e, conclusive := ExploreOptions{Base: c.base}, 0
		pool := campaign.NewPool()
		defer pool.Close()
		schedules := sampletest.Count(200, 2, 1)
		for i := range schedules {
			x, err := e.try(t.Context(), pool, i)
			if err != nil {
				t.Fatal(err)
			}
			if v := x.result.ResultOf(checker.MutualExclusion); v != nil && v.Verdict == checker.Holds {
				conclusive++
			}
		}
		if 100*conclusive < c.least*schedules {
			t.Errorf("%s, %d masters: %d of %d schedules are conclusive, fewer than %d %%", c.base.Lock, c.base.Masters, conclusive, schedules, c.least)
		}
		t.Logf("%s, %d masters: %d of %d schedules are conclusive", c.base.Lock, c.base.Masters, conclusive, schedules)
	}
}

// Schedules end with the evidence of what is searched for, if that is the evidence that ends them.
func TestWhichSchedulesEndWithTheirEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scenario.Scenario)
		want   bool
	}{
		"mutual exclusion":   {func(*scenario.Scenario) {}, true},
		"beliefs":            {func(s *scenario.Scenario) { s.Properties = []string{"L2", "L3"} }, false},
		"everything":         {func(s *scenario.Scenario) { s.Properties = nil }, false},
		"a read-write lock":  {func(s *scenario.Scenario) { s.Lock = "rw" }, true},
		"an explicit script": {func(s *scenario.Scenario) { s.Schedule = []scenario.Step{{Fault: "kill", Masters: []string{"m1"}}} }, false},
	} {
		base := twoFaults()
		c.change(&base)
		if got := Schedule(base, 1).StopAfter > 0; got != c.want {
			t.Errorf("%s: it ends with its evidence: %t", name, got)
		}
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
