//go:build real

package campaign

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// TestStepsOfTheMachinesClock: after one nothing holds, and nobody is convicted.
func TestStepsOfTheMachinesClock(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		var set atomic.Int64
		_, h, r, err := Run(t.Context(), shortScenario(driver, func(s *scenario.Scenario) { s.Faults, s.TimeLimit, s.Persistence = nil, 4*time.Second, "always" }), Options{
			Drivers: testDrivers,
			Store:   Store{t.TempDir()}, Progress: t.Logf, ahead: func() time.Duration { return time.Duration(set.Load()) },
			Live: func(s Status) {
				if s.Granted > 3 {
					set.Store(int64(3 * time.Second))
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		steps := slices.DeleteFunc(slices.Clone(h.Ops), func(op history.Op) bool { return op.F != history.FStepped })
		if len(steps) != 1 || !strings.Contains(steps[0].Error, "set forward by 3s") || steps[0].Value.Took <= 0 || steps[0].Value.Took > 2*time.Second {
			t.Errorf("recorded: %+v", steps)
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "the machine's clock changed at") }) {
			t.Errorf("the notes are %q", r.Notes)
		}
		for _, v := range r.Verdicts {
			if v.Verdict == checker.Holds || v.Verdict == checker.Violated {
				t.Errorf("%s %s is %s: %s", v.Level, v.Name, v.Verdict, v.Why)
			}
		}
	})
}
