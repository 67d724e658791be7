package campaign

import (
	"testing"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
)

// TestWhatIsInherent: what follows from a broken assumption does not convict the lock, and what a planted bug does is
// not explained by one.
func TestWhatIsInherent(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	for _, c := range []struct {
		name     string
		change   func(*scenario.Scenario)
		property checker.Property
		without  string // empty: the lock is to blame
	}{
		{"restarts that forget", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"kill"}, "none" }, checker.MutualExclusion, "persistence"},
		{"power cuts with everysec", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"powercut"}, "everysec" }, checker.MutualExclusion, "persistence"},
		{"clients that stop", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"client-pause"}, "always" }, checker.BeliefExclusion, "clients that never stop"},
		{"clocks that jump", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"clock"}, "always" }, checker.MutualExclusion, "clocks that never jump"},
		{"failovers", func(s *scenario.Scenario) { s.Faults, s.Persistence = []string{"failover"}, "always" }, checker.MutualExclusion, "complete replicas"},
		{"a bare DEL, beside restarts", func(s *scenario.Scenario) {
			s.Lock, s.Faults, s.Persistence = "redlock-plain-del", []string{"kill"}, "none"
		}, checker.MutualExclusion, ""},
		{"a bare DEL, beside clients that stop", func(s *scenario.Scenario) {
			s.Lock, s.Faults, s.Persistence = "redlock-plain-del", []string{"client-pause"}, "always"
		}, checker.MutualExclusion, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenario.Defaults()
			s.Driver = scenario.Sim
			c.change(&s)
			s = s.WithRequirements()
			for seed := range uint64(20) {
				s.Seed = seed
				h, rep := judgedRun(t, s)
				v := rep.Result(c.property)
				if v == nil || v.Verdict != checker.Violated {
					continue
				}
				all := judge.Inherent(h, v)
				switch {
				case c.without == "" && len(all) > 0:
					t.Errorf("seed %d: a planted bug is explained by the lack of %s", seed, all[0].Name)
				case c.without != "" && (len(all) != 1 || all[0].Name != c.without):
					t.Errorf("seed %d: %d assumptions explain it, want %s\n%v", seed, len(all), c.without, v.Violations[0].Reason)
				}
				return
			}
			t.Error("it was never violated")
		})
	}
}
