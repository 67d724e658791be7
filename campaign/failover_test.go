package campaign

import (
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
)

// failsOver simulates a scenario and says whether L2 was violated and how many failovers lost
// a lock.
func failsOver(t *testing.T, seed uint64, change func(*scenario.Scenario)) (violated bool, faults []*history.Fault) {
	t.Helper()
	s := scenario.Defaults()
	s.Driver, s.Persistence, s.Replicas, s.Seed, s.Faults = scenario.Sim, "always", 1, seed, nil
	change(&s)
	s = s.WithRequirements()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	report := checker.Check(h, checker.MutualExclusion)
	return report.Result(checker.MutualExclusion).Verdict == checker.Violated, history.Faults(h.Ops)
}

// TestOneFailoverBreaksTheLock: one failover just after a grant lets another client have the
// lock in a fair share of runs, since the TTL is long against the outage, and the key of the
// holder before is gone from the replica, too.
func TestOneFailoverBreaksTheLock(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	const runs = 100
	for name, change := range map[string]func(*scenario.Scenario){
		"single": func(s *scenario.Scenario) {
			s.Lock, s.Masters = "single", 1
			s.Schedule = []scenario.Step{{Fault: "failover", At: 20 * time.Second, For: time.Second, Masters: []string{"m1"}}}
		},
		// c1 reaches a bare quorum, of which one master fails over.
		"redlock": func(s *scenario.Scenario) {
			s.Lock, s.Clients = "redlock", 2
			s.Schedule = []scenario.Step{
				{Fault: "partition", For: time.Minute, Clients: []string{"c1"}, Masters: []string{"m4", "m5"}, Mode: "drop"},
				{Fault: "failover", After: "c1 acquires k0", For: time.Second, Masters: []string{"m1"}},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			violated := 0
			for seed := range uint64(runs) {
				v, _ := failsOver(t, seed, func(s *scenario.Scenario) {
					s.TTL, s.TimeLimit, s.Hold, s.LongHolds = 30*time.Second, time.Minute, "2s..10s", 0
					change(s)
				})
				if v {
					violated++
				}
			}
			t.Logf("%d of %d runs violated L2", violated, runs)
			if violated < runs/10 {
				t.Errorf("%d of %d runs violated L2", violated, runs)
			}
		})
	}
}

// TestFailoversNowAndThen: an hour with failovers, none of them aimed, loses locks and breaks
// mutual exclusion.
func TestFailoversNowAndThen(t *testing.T) {
	violated, faults := failsOver(t, 1, func(s *scenario.Scenario) {
		s.Lock, s.Masters, s.TTL, s.Hold, s.LongHolds, s.TimeLimit = "single", 1, 30*time.Second, "1s..20s", 0, time.Hour
		s.Faults, s.Nemesis, s.Interval = []string{"failover"}, scenario.Random, 2*time.Minute
	})
	lost := 0
	for _, f := range faults {
		if strings.Contains(f.Evidence, "m1 lost k0") {
			lost++
		}
	}
	t.Logf("%d failovers, of which %d lost the key", len(faults), lost)
	if !violated || lost < len(faults)/4 || lost == len(faults) {
		t.Errorf("L2 violated: %v; %d of %d failovers lost the key", violated, lost, len(faults))
	}
}

// TestSplitBrainBreaksTheLock: the old primary lives on for half of the clients, which hold
// locks there that the others are granted by the new one, also if the outage is longer than the TTL.
func TestSplitBrainBreaksTheLock(t *testing.T) {
	violated := 0
	for seed := range uint64(20) {
		v, _ := failsOver(t, seed, func(s *scenario.Scenario) {
			s.Lock, s.Masters, s.TTL, s.TimeLimit = "single", 1, 5*time.Second, 30*time.Second
			s.Schedule = []scenario.Step{{Fault: "failover", At: 5 * time.Second, For: 10 * time.Second, Masters: []string{"m1"}, SplitBrain: true, Clients: []string{"c1", "c2"}, Outage: 6 * time.Second}}
		})
		if v {
			violated++
		}
	}
	if violated < 18 {
		t.Errorf("%d of 20 runs violated L2", violated)
	}
}
