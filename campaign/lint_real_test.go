//go:build real

package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/watch"
)

// TestACorrectLockBreaksNoRule: neither cuts that delay releases nor restarts make a run name a rule that a correct lock keeps.
func TestACorrectLockBreaksNoRule(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		_, _, r, err := Run(t.Context(), shortScenario(driver, func(s *scenario.Scenario) {
			s.Faults, s.Nemesis, s.TimeLimit = []string{"kill", "partition"}, scenario.Guided, 10*time.Second
		}), Options{Drivers: testDrivers, Store: Store{t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hints {
			if h.Severity == watch.Error {
				t.Errorf("a correct lock breaks %s", h.String())
			}
		}
	})
}
