package campaign

import (
	"slices"
	"strings"
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
			h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
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

// TestOutOfMemoryIsAnAnswer: a master that replies with OOM has answered the lock, and no key is left because of it.
func TestOutOfMemoryIsAnAnswer(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Masters, s.Clients, s.TTL, s.TimeLimit, s.Persistence, s.Eviction, s.Seed = scenario.Sim, 3, 3, time.Second, 10*time.Second, "always", "noeviction", 1
	s.Schedule = []scenario.Step{{Fault: "memory", At: time.Second, For: 5 * time.Second, Masters: []string{"m1"}}}
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, v := range history.Votes(h.Ops) {
		if strings.Contains(v.Error, "OOM ") {
			if answers++; v.Unknown || v.Yes || v.Refused() {
				t.Fatalf("%+v", v)
			}
		}
	}
	if answers < 10 {
		t.Errorf("%d replies were OOM: the test shows nothing", answers)
	}
	report := checker.Check(h, checker.OrphanKeys, checker.OwnKeys)
	for _, p := range []checker.Property{checker.OrphanKeys, checker.OwnKeys} {
		if r := report.Result(p); r.Verdict != checker.Holds {
			t.Errorf("%s: %s: %s", p.Name, r.Verdict, r.Why)
		}
	}
}
