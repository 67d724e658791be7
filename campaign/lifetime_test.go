package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
)

// judgedRun runs a scenario in virtual time and judges it.
func judgedRun(t *testing.T, s scenario.Scenario) (*history.History, checker.Report) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h, checker.Check(h)
}

// Commands that are carried out late, after a partition that held them, a pause or a
// restart, prolong no key beyond the TTL from when they were carried out.
func TestLateCommandsProlongNoKey(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for seed := uint64(100); seed < 140; seed++ { // with 112 a rule that went by the votes saw a key of 4 s
		s := scenario.Defaults()
		s.Driver, s.Persistence, s.Faults, s.Nemesis = scenario.Sim, "always", []string{"kill", "pause", "partition"}, []string{scenario.Random, scenario.Guided}[seed%2]
		s.Seed, s.TimeLimit = seed, 15*time.Second
		_, rep := judgedRun(t, s)
		if r := rep.Result(checker.KeyLifetime); r == nil || r.Verdict == checker.Violated {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
}

// A clock that jumps back does.
func TestClockThatJumpsBackProlongsKeys(t *testing.T) {
	s, err := scenario.Load("../examples/clock-jumps-back.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Driver, s.TimeLimit = scenario.Sim, 20*time.Second
	_, rep := judgedRun(t, s)
	if r := rep.Result(checker.KeyLifetime); r == nil || r.Verdict != checker.Violated {
		t.Errorf("%+v", r)
	}
}
