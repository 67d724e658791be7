package campaign

import (
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/workload"
)

// soundFaults are what a lock on masters that forget nothing has to bear.
var soundFaults = [][]string{
	nil, {"partition"}, {"pause"}, {"kill"}, {"kill", "pause", "partition"}, {"slow", "reset", "partition"},
	{"client-pause", "kill"}, {"client-kill", "partition"}, {"powercut"}, {"full-disk", "slow-fsync"},
}

// The correct locks violate no property within their assumptions, whatever strikes: but
// those that no lock can keep where clients stand still (beliefs, and what they write).
func TestNoFalseAlarm(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	judged := map[string]int{}
	for seed := range uint64(4) {
		for i, faults := range soundFaults {
			s := scenario.Defaults()
			s.Driver, s.Persistence, s.Faults = scenario.Sim, "always", faults
			s.Lock = []string{"redlock", "redlock-sequential", "single", "fair", "textbook", "multi"}[(int(seed)+i)%6]
			s.Nemesis = []string{scenario.Random, scenario.Guided}[seed%2]
			s.Seed, s.TimeLimit, s.Keys = seed, 15*time.Second, 1+int(seed%2)
			s.Properties = []string{checker.DeadOnArrival.Name} // which is judged only if named
			if seed%3 == 0 {
				s.Resource = workload.MarkFirst
			}
			_, rep := judgedRun(t, s)
			for _, r := range rep.Results {
				if r.Checked > 0 {
					judged[r.Name]++
				}
				if r.Verdict == checker.Violated && r.Property != checker.BeliefExclusion && r.Property != checker.NoStaleWrite {
					t.Errorf("seed %d, %s, %v: %s: %s\n%s", seed, s.Lock, faults, r.Name, r.Why, strings.Join(r.Violations[0].Reason, "\n"))
				}
			}
		}
	}
	for _, p := range checker.Properties {
		if n := judged[p.Name]; n == 0 && p != checker.GhostKeys && p != checker.FencedWrites && p != checker.FencingMonotone {
			t.Errorf("%s was never put to the test", p.Name)
		}
	}
}

// Where masters forget, fewer than a quorum store what a lease rests on, and nothing but
// what follows from that is violated.
func TestAmnesiaIsTooFewMasters(t *testing.T) {
	found := 0
	for seed := range uint64(6) {
		s := scenario.Defaults()
		s.Driver, s.Faults, s.Seed, s.TimeLimit = scenario.Sim, []string{"kill"}, seed, 15*time.Second
		_, rep := judgedRun(t, s)
		for _, r := range rep.Results {
			if r.Verdict != checker.Violated {
				continue
			}
			switch r.Property {
			case checker.MinValidity:
				found++
				if !strings.Contains(strings.Join(r.Violations[0].Reason, "\n"), "without persistence") {
					t.Errorf("seed %d: %v", seed, r.Violations[0].Reason)
				}
			case checker.MutualExclusion, checker.BeliefExclusion, checker.NoStaleWrite:
			default:
				t.Errorf("seed %d: %s: %s", seed, r.Name, r.Why)
			}
		}
	}
	if found == 0 {
		t.Error("no run violated min-validity")
	}
}
