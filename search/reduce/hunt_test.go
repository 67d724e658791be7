package reduce

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/search"
)

// hunt is a bug that explore has to find, and what it may shrink to.
type hunt struct {
	name   string
	within int // schedules
	change func(*scenario.Scenario)
}

// hunts are bugs of a system (the first three) and of locks.
var hunts = []hunt{
	{"restart without persistence", 20, func(s *scenario.Scenario) {}},
	{"a clock that jumps", 20, func(s *scenario.Scenario) {
		s.Persistence, s.Faults, s.Clock = "always", []string{"clock"}, "+60s"
	}},
	{"a restart delay below the TTL", 20, func(s *scenario.Scenario) {
		s.Faults, s.RestartDelay = []string{"kill", "partition"}, time.Second
	}},
	{"no drift allowance with fast masters", 300, func(s *scenario.Scenario) {
		s.Lock, s.Persistence, s.Faults, s.Clock = "redlock-no-drift", "always", []string{"clock", "client-pause"}, "x1.01"
	}},
	{"a quorum of N/2 with N = 4", 20, func(s *scenario.Scenario) {
		s.Lock, s.Masters, s.Persistence, s.Faults = "redlock-quorum-half", 4, "always", nil
	}},
	{"one token for all retries", 50, func(s *scenario.Scenario) {
		s.Lock, s.Persistence, s.Faults = "redlock-one-token", "always", []string{"slow", "partition", "pause"}
	}},
}

// mustFind explores, and shrinks what it finds.
func mustFind(t *testing.T, h hunt, seed uint64) *ShrinkResult {
	t.Helper()
	s := campaigntest.Simulated(h.change)
	s.Seed = seed
	x, err := search.Explore(t.Context(), search.ExploreOptions{Base: s, Schedules: h.within})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Found) != 1 {
		t.Fatalf("seed %d: found %d violations in %d schedules, want 1", seed, len(x.Found), x.Schedules)
	}
	z, err := Shrink(t.Context(), ShrinkOptions{Scenario: x.Found[0].Scenario, TimeLimit: 5 * time.Minute})
	if err != nil {
		t.Fatalf("seed %d, schedule %d: %v", seed, x.Found[0].Number, err)
	}
	t.Logf("schedule %d of seed %d: %+v shrunk to %+v, violated with %d of %d seeds, in %d runs", x.Found[0].Number, seed, z.Before, z.Size, z.Rate, z.Seeds, z.Runs)
	for i, step := range z.Scenario.Schedule {
		t.Logf("step %d: %v", i+1, step)
	}
	return z
}

// Explore finds each bug, and shrinks it to a story of at most three faults and two
// clients, of which no fault can be left out.
func TestExploreFindsAndShrinks(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried := sampletest.Of(t, 5, 2)
	for i, h := range hunts {
		if !tried(i) {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			z := mustFind(t, h, 1)
			if z.Size.Faults > 3 || z.Size.Clients > 2 || !z.Minimal {
				t.Errorf("shrunk to %+v, minimal: %v", z.Size, z.Minimal)
			}
			if a, b := z.Before, z.Size; b.Faults > a.Faults || b.Clients > a.Clients || b.Masters > a.Masters || b.Keys > a.Keys || b.Hit > a.Hit {
				t.Errorf("%+v is worse than %+v", b, a)
			}
			if z.Violation.Level != "L2" || len(z.Violation.Reason) == 0 {
				t.Errorf("the violation is %+v", z.Violation)
			}
			// The scenario is whole: read from its file it is violated again, and its faults are necessary.
			yaml, err := z.Scenario.YAML()
			if err != nil {
				t.Fatal(err)
			}
			again, err := scenario.Parse(yaml)
			if err != nil {
				t.Fatalf("%v\n%s", err, yaml)
			}
			if _, r, err := search.SimulateAndJudge(t.Context(), again); err != nil || r.ResultsFor([]string{"L2"})[0].Verdict != checker.Violated {
				t.Errorf("read from its file it is not violated (%v):\n%s", err, yaml)
			}
			for i := range again.Schedule {
				if _, r, err := search.SimulateAndJudge(t.Context(), search.WithoutStep(again, i)); err != nil || r.ResultsFor([]string{"L2"})[0].Verdict == checker.Violated {
					t.Errorf("without step %d it is still violated (%v)", i+1, err)
				}
			}
		})
	}
}

// A lease that is over before its acquire returned violates a property of its own.
func TestExploreFindsLeasesThatAreDeadOnArrival(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	property := checker.DeadOnArrival.Name
	s := campaigntest.Simulated(func(s *scenario.Scenario) {
		s.Lock, s.Persistence, s.Faults = "redlock-no-validity", "always", []string{"client-pause", "slow"}
	})
	x, err := search.Explore(t.Context(), search.ExploreOptions{Base: s, Schedules: 100, Properties: []string{property}})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Found) != 1 {
		t.Fatalf("found %d violations in %d schedules: %s", len(x.Found), x.Schedules, x.Properties[0].Why)
	}
	z, err := Shrink(t.Context(), ShrinkOptions{Scenario: x.Found[0].Scenario, Properties: []string{property}, TimeLimit: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v shrunk to %+v: %v", z.Before, z.Size, z.Scenario.Schedule)
	if z.Size.Faults > 3 || z.Size.Clients > 2 || !z.Minimal {
		t.Errorf("shrunk to %+v, minimal: %v", z.Size, z.Minimal)
	}
	s.Lock = "textbook"
	if x, err := search.Explore(t.Context(), search.ExploreOptions{Base: s, Schedules: 100, Properties: []string{property}}); err != nil || len(x.Found) > 0 {
		t.Errorf("the twin that is right is blamed (%v): %+v", err, x)
	}
}
