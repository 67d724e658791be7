//go:build real

package campaign

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// TestRemovedStore: a run whose history somebody removes ends soon, as an error of the harness.
func TestRemovedStore(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		store := Store{t.TempDir()}
		removed := false
		_, _, r, err := Run(t.Context(), shortScenario(driver, func(s *scenario.Scenario) { s.Faults, s.TimeLimit = nil, time.Hour }), Options{
			Drivers: testDrivers,
			Store:   store, Progress: t.Logf,
			Live: func(s Status) {
				if s.Granted < 3 || removed {
					return
				}
				if err := os.RemoveAll(store.Dir); err != nil {
					t.Error(err)
				}
				removed = true
			},
		})
		var harness *judge.HarnessError
		if !errors.As(err, &harness) || !strings.Contains(err.Error(), "was removed or replaced while the run went on") || r != nil {
			t.Errorf("%v, %+v", err, r)
		}
	})
}
