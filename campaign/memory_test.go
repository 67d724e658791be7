package campaign

import (
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// TestMemoryIsDrainedAfterAnotherFault: a master that is paused or down when the fault memory
// heals takes keys again once it runs.
func TestMemoryIsDrainedAfterAnotherFault(t *testing.T) {
	for name, other := range map[string]scenario.Step{
		"paused":                  {Fault: "pause", At: 1500 * time.Millisecond, For: 1500 * time.Millisecond, Masters: []string{"m1"}},
		"killed, with everything": {Fault: "kill", At: 1500 * time.Millisecond, For: 1500 * time.Millisecond, Masters: []string{"m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Masters, s.Clients, s.TTL, s.TimeLimit, s.Persistence, s.Eviction, s.Seed = scenario.Sim, "single", 1, 3, time.Second, 5*time.Second, "always", "noeviction", 1
			s.Schedule = []scenario.Step{{Fault: "memory", At: time.Second, For: time.Second, Masters: []string{"m1"}}, other}
			h, err := Simulate(t.Context(), s.WithRequirements(), SimulateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			report := checker.Check(h, checker.Availability)
			if v := report.Result(checker.Availability); v.Verdict != checker.Holds {
				t.Errorf("availability: %s: %s", v.Verdict, v.Why)
			}
			if !slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.F == "memory" && op.Value != nil && op.Value.TookEffect }) {
				t.Error("the memory did not run out: the test shows nothing")
			}
		})
	}
}
