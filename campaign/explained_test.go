package campaign

import (
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/internal/racetest"
)

// TestSharedLocksAreExplained: where masters forget what several clients hold, each violation names the restart that caused it,
// whichever of these clients lost its part.
func TestSharedLocksAreExplained(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	for _, lock := range []string{"semaphore", "rw", "reentrant"} {
		judged := 0
		for seed := range uint64(4) {
			_, r := mustRun(t, shortScenario(scenario.Sim, func(s *scenario.Scenario) {
				s.Lock, s.Seed, s.Faults, s.TimeLimit = lock, seed+1, []string{"kill"}, 20*time.Second
			}))
			for i := range r.Verdicts {
				v := &r.Verdicts[i]
				for j := range v.Violations {
					x := &v.Violations[j]
					if v.Level != "L2" && v.Level != "L3" {
						continue
					}
					judged++
					if x.Cause().Says() == "" {
						t.Errorf("%s, seed %d: nothing is said to have caused this: %s %s\n%s", lock, seed+1, v.Level, x.Summary, strings.Join(x.Reason, "\n"))
					}
				}
			}
		}
		if judged < 20 {
			t.Errorf("%s was violated %d times only", lock, judged)
		}
	}
}
